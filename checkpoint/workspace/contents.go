package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// Open returns the bytes of an entry, or the target of a link. They are verified while
// they are read: if they do not match the digest, the last read returns an error in place
// of io.EOF. Missing bytes are fs.ErrNotExist.
func (w *Workspace) Open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	if e.Blob != "" && w.o.Git != nil {
		r, err := w.o.Git.Open(ctx, e.Blob)
		if err == nil {
			return &verifier{r: r, e: e, sha: sha256.New(), wrong: &DamagedError{Entry: e}}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, failed(e.Path, err)
		}
	}
	if w.o.Objects == nil {
		return nil, fmt.Errorf("%s: %w: %w", e.Path, errNoObjects, fs.ErrNotExist)
	}
	r, err := w.o.Objects.Open(e.Digest)
	if err != nil {
		return nil, failed(e.Path, err)
	}
	return r, nil
}

// OpenFile returns the bytes of the file that the workspace now has at the path of an
// entry, verified as by Open. If they do not match the entry, reading ends with a
// *ChangedError.
func (w *Workspace) OpenFile(ctx context.Context, e Entry) (io.ReadCloser, error) {
	r, err := w.OpenNow(ctx, e)
	if err != nil {
		return nil, err
	}
	return &verifier{r: r, e: e, sha: sha256.New(), wrong: &ChangedError{Path: e.Path}}, nil
}

// LinkText returns the target of the link that an entry records.
func (w *Workspace) LinkText(ctx context.Context, e Entry) (string, error) {
	var text strings.Builder
	r, err := w.Open(ctx, e)
	if err == nil {
		err = w.files.buffers.copy(&text, r)
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
	if errors.Is(err, io.EOF) && (v.n != v.e.Size || tree.DigestOf(v.sha.Sum(nil)) != v.e.Digest) {
		err = v.wrong
	}
	return n, err
}

func (v *verifier) Close() error { return v.r.Close() }

// source reads the bytes of many entries. One goroutine may use it.
type source struct {
	w     *Workspace
	blobs *git.BlobReader // nil: opened by the first call that needs it, with that call's context
	blob  string          // git's name of the bytes that were read last; "": they did not come from git
}

// clone shares the bytes of an entry's object with the file to, which must be empty. If it
// returns true, it has verified the file itself. If it returns false, the caller must use
// writeAny, which writes the bytes or reports the error.
func (s *source) clone(ctx context.Context, e Entry, to *os.File) (bool, error) {
	s.blob = ""
	if e.Size <= objects.CloneAbove || s.w.o.Objects == nil || !s.w.o.Objects.Clone(to, e.Digest) {
		return false, nil
	}
	sha := sha256.New()
	if err := s.w.files.buffers.copy(sha, &contextReader{ctx: ctx, r: to}); err != nil {
		return false, err
	}
	return tree.DigestOf(sha.Sum(nil)) == e.Digest, nil
}

// writeAny writes the bytes of an entry, verified when it returns nil. If git's blob is
// damaged, it uses the object. begin returns the writer; it is called again if the bytes
// are written again from the beginning.
func (s *source) writeAny(ctx context.Context, e Entry, begin func() (io.Writer, error)) error {
	to, err := begin()
	if err != nil {
		return err
	}
	err = s.write(ctx, e, to)
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		return err
	}
	e.Blob = ""
	if to, failed := begin(); failed != nil || s.write(ctx, e, to) != nil {
		return errors.Join(failed, err)
	}
	return nil
}

// write writes the bytes of an entry like writeAny, but without the second attempt: a
// damaged blob is an error.
func (s *source) write(ctx context.Context, e Entry, to io.Writer) error {
	s.blob = ""
	if e.Blob != "" && s.w.o.Git != nil {
		done, err := s.writeBlob(ctx, e, to)
		if done {
			s.blob = e.Blob
		}
		if done || err != nil {
			return err
		}
	}
	r, err := s.w.Open(ctx, Entry{Path: e.Path, Size: e.Size, Digest: e.Digest})
	if err != nil {
		return err
	}
	counted := &countingReader{r: &contextReader{ctx: ctx, r: r}}
	err = s.w.files.buffers.copy(to, counted)
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err == nil && counted.n != e.Size {
		err = fmt.Errorf("%s: %s has %d bytes, not %d", e.Path, e.Digest, counted.n, e.Size)
	}
	return err
}

// writeBlob writes git's blob of an entry. It returns false if git has no such blob.
func (s *source) writeBlob(ctx context.Context, e Entry, to io.Writer) (done bool, err error) {
	if s.blobs == nil {
		if s.blobs, err = s.w.o.Git.Blobs(ctx); err != nil {
			return false, err
		}
	}
	sha := sha256.New()
	err = s.blobs.Read(e.Blob, io.MultiWriter(to, sha))
	var failed *git.WriteError
	switch {
	case errors.As(err, &failed):
		return false, failed.Err
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil, tree.DigestOf(sha.Sum(nil)) != e.Digest:
		return false, &DamagedError{Entry: e, Err: err}
	}
	return true, nil
}

func (s *source) close() error {
	if s.blobs == nil {
		return nil
	}
	return s.blobs.Close()
}

// sources hold a source for each of several goroutines.
type sources struct {
	free chan *source
}

// newSources returns a source for each worker. All reads through them end with ctx. The
// caller must close them.
func (w *Workspace) newSources(ctx context.Context) (*sources, error) {
	p := &sources{free: make(chan *source, tree.Workers())}
	for range tree.Workers() {
		s := &source{w: w}
		if w.o.Git != nil {
			var err error
			if s.blobs, err = w.o.Git.Blobs(ctx); err != nil {
				return nil, errors.Join(err, p.close())
			}
		}
		p.free <- s
	}
	return p, nil
}

// use calls do with a source that no other goroutine uses at the same time.
func (p *sources) use(do func(*source) error) error {
	s := <-p.free
	defer func() { p.free <- s }()
	return do(s)
}

// close closes the sources. The caller must not use any source any more.
func (p *sources) close() error {
	var all []error
	for len(p.free) > 0 {
		all = append(all, (<-p.free).close())
	}
	return errors.Join(all...)
}

// Reader opens many entries, one after the other, through one git process. It is not safe
// for concurrent use. The caller must close it.
type Reader struct{ source source }

// Reader returns a reader of entries. All reads through it end with ctx.
func (w *Workspace) Reader(ctx context.Context) (*Reader, error) {
	r := &Reader{source{w: w}}
	if w.o.Git == nil {
		return r, nil
	}
	var err error
	r.source.blobs, err = w.o.Git.Blobs(ctx)
	return r, err
}

// Open returns the bytes of an entry, as Workspace.Open does. The caller must have closed
// the result of the previous call.
func (r *Reader) Open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	if e.Blob == "" || r.source.blobs == nil {
		return r.source.w.Open(ctx, e)
	}
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = in.CloseWithError(r.source.write(ctx, e, in))
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
