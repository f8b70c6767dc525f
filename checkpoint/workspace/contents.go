package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// Contents has the bytes of captured files: in git's store, if a capture used git, or as
// objects. It is safe for concurrent use.
type Contents struct {
	dir     string
	mode    GitMode
	git     *git.Repository // nil: none of the bytes can be read from git
	objects *objects.Store  // nil: there are no objects
	tree    *tree.Tree
	buffers *buffers
}

// Contents returns the bytes that the workspace's captures kept.
func (w *Workspace) Contents() *Contents { return w.contents }

// Open returns the bytes of an entry, or the target of a link. They are verified while
// they are read: if they do not match the digest, the last read returns an error in place
// of io.EOF. Missing bytes are fs.ErrNotExist.
func (c *Contents) Open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	if e.Blob != "" && c.git != nil {
		r, err := c.git.OpenBlob(ctx, e.Blob)
		if err == nil {
			return &verifier{r: r, e: e, sha: sha256.New(), wrong: &DamagedError{Entry: e}}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, withPath(e.Path, err)
		}
	}
	if c.objects == nil {
		return nil, fmt.Errorf("%s: %w: %w", e.Path, errNoObjects, fs.ErrNotExist)
	}
	r, err := c.objects.Open(e.Digest)
	if err != nil {
		return nil, withPath(e.Path, err)
	}
	return r, nil
}

// LinkText returns the target of the link that an entry records.
func (c *Contents) LinkText(ctx context.Context, e Entry) (string, error) {
	var text strings.Builder
	r, err := c.Open(ctx, e)
	if err == nil {
		err = c.buffers.copyBytes(&text, r)
		_ = r.Close() // it was only read
	}
	if err != nil {
		return "", fmt.Errorf("read where the link %s leads: %w", e.Path, err)
	}
	return text.String(), nil
}

// DamagedError says that git's blob of an entry can't be read, or does not match the
// entry's digest.
type DamagedError struct {
	Entry Entry
	Err   error // nil: the bytes do not match the digest
}

func (e *DamagedError) Error() string {
	what := fmt.Sprintf("%s: blob %s of git is damaged", e.Entry.Path, e.Entry.Blob)
	if e.Err != nil {
		return what + ": " + e.Err.Error()
	}
	return what + ": its bytes are not those of " + e.Entry.Digest
}

func (e *DamagedError) Unwrap() error { return e.Err }

// verifier compares the bytes that are read with the digest of an entry.
type verifier struct {
	r   io.ReadCloser
	e   Entry
	sha hash.Hash
	n   int64

	wrong error // the error if the bytes do not match
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	_, _ = v.sha.Write(p[:n]) // a hash returns no error
	v.n += int64(n)
	if errors.Is(err, io.EOF) && (v.n != v.e.Size || objects.DigestOf(v.sha.Sum(nil)) != v.e.Digest) {
		err = v.wrong
	}
	return n, err
}

func (v *verifier) Close() error { return v.r.Close() }

// Reader opens many entries, one after the other, through one git process. It is not safe
// for concurrent use. The caller must close it.
type Reader struct{ source source }

// Reader returns a reader of entries. All reads through it end with ctx.
func (c *Contents) Reader(ctx context.Context) (*Reader, error) {
	r := &Reader{source{from: c}}
	if c.git == nil {
		return r, nil
	}
	var err error
	r.source.blobs, err = c.git.Blobs(ctx)
	return r, err
}

// Open returns the bytes of an entry, as Contents.Open does. The caller must have closed
// the result of the previous call.
func (r *Reader) Open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	if e.Blob == "" || r.source.blobs == nil {
		return r.source.from.Open(ctx, e)
	}
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = in.CloseWithError(r.source.writeTo(ctx, e, in))
	}()
	return &piped{PipeReader: out, done: done}, nil
}

// Close ends the git process.
func (r *Reader) Close() error {
	if r.source.blobs == nil {
		return nil
	}
	return r.source.blobs.Close()
}

// piped is the pipe from the goroutine that reads an entry.
type piped struct {
	*io.PipeReader
	done chan struct{}
}

// Close closes the pipe, which ends the goroutine, and waits for the goroutine.
func (p *piped) Close() error {
	err := p.PipeReader.Close()
	<-p.done
	return err
}

// HasObject reports whether there is an object of a digest. It does not read the object.
func (c *Contents) HasObject(digest string) (bool, error) {
	if c.objects == nil || digest == "" {
		return false, nil
	}
	return c.objects.Has(digest)
}

// OpenMany returns a function that is Open for many entries of moderate size. It reads
// those in git through a few processes. The caller must call done, which ends them.
func (c *Contents) OpenMany(ctx context.Context) (open Source, done func() error, err error) {
	all, err := c.newSources(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open what was kept: %w", err)
	}
	open = func(ctx context.Context, e Entry) (io.ReadCloser, error) {
		var data bytes.Buffer
		begin := func() (io.Writer, error) {
			data.Reset()
			return &data, nil
		}
		if err := all.withSource(func(s *source) error { return s.writeAny(ctx, e, begin) }); err != nil {
			return nil, err
		}
		return io.NopCloser(&data), nil
	}
	return open, all.close, nil
}
