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

// Open returns the bytes of an entry (of a link: its target). They are
// verified while they are read: the read that would reach their end returns an
// error in place of io.EOF if they are not what the digest says. Bytes that
// cannot be had are fs.ErrNotExist.
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

// OpenFile returns the bytes of the file that the workspace has at the path of an
// entry, verified as by Open: it is a *ChangedError that they are others.
func (w *Workspace) OpenFile(ctx context.Context, e Entry) (io.ReadCloser, error) {
	r, err := w.OpenNow(ctx, e)
	if err != nil {
		return nil, err
	}
	return &verifier{r: r, e: e, sha: sha256.New(), wrong: &ChangedError{Path: e.Path}}, nil
}

// LinkText returns the text of the link that an entry records.
func (w *Workspace) LinkText(ctx context.Context, e Entry) (string, error) {
	var text strings.Builder
	r, err := w.Open(ctx, e)
	if err == nil {
		err = w.copy(&text, r)
		_ = r.Close() // it was only read
	}
	if err != nil {
		return "", fmt.Errorf("read where the link %s leads: %w", e.Path, err)
	}
	return text.String(), nil
}

// DamagedError says that the bytes that git has of an entry can't be read, or
// are not what its digest says.
type DamagedError struct {
	Entry Entry
	Err   error // nil: they are others
}

func (e *DamagedError) Error() string {
	what := fmt.Sprintf("%s: blob %s of git is damaged", e.Entry.Path, e.Entry.Blob)
	if e.Err != nil {
		return what + ": " + e.Err.Error()
	}
	return what + ": its bytes are not those of " + e.Entry.Digest
}

func (e *DamagedError) Unwrap() error { return e.Err }

// verifier compares what is read with a digest.
type verifier struct {
	r   io.ReadCloser
	e   Entry
	sha hash.Hash
	n   int64

	wrong error // that they are others
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	_, _ = v.sha.Write(p[:n]) // a hash takes everything
	v.n += int64(n)
	if errors.Is(err, io.EOF) && (v.n != v.e.Size || tree.DigestOf(v.sha.Sum(nil)) != v.e.Digest) {
		err = v.wrong
	}
	return n, err
}

func (v *verifier) Close() error { return v.r.Close() }

// source reads the bytes of many entries. It belongs to one goroutine.
type source struct {
	w     *Workspace
	blobs *git.BlobReader // nil: made when it is needed, for the context of that call
	blob  string          // git's name of the bytes that were given last; "": git did not give them
}

// clone has a file that is empty share the bytes of an entry's object, verified
// when it returns true: what was verified is the file itself. Where it returns
// false, writeAny gives the bytes, or says what is wrong with them.
func (s *source) clone(ctx context.Context, e Entry, to *os.File) (bool, error) {
	s.blob = ""
	if e.Size <= objects.CloneAbove || s.w.o.Objects == nil || !s.w.o.Objects.Clone(to, e.Digest) {
		return false, nil
	}
	sha := sha256.New()
	if err := s.w.copy(sha, &contextReader{ctx: ctx, r: to}); err != nil {
		return false, err
	}
	return tree.DigestOf(sha.Sum(nil)) == e.Digest, nil
}

// writeAny writes the bytes of an entry, verified when it returns nil: those of
// git's blob or, where that is damaged, those of the object. begin gives where
// they go, and is called again where they begin anew.
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

// write is writeAny that takes a damaged blob for the end of it.
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
	err = s.w.copy(to, counted)
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err == nil && counted.n != e.Size {
		err = fmt.Errorf("%s: %s has %d bytes, not %d", e.Path, e.Digest, counted.n, e.Size)
	}
	return err
}

// writeBlob writes a blob of git. It is not done if git has none.
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

// sources are what several goroutines read entries from.
type sources struct {
	free chan *source
}

// newSources returns as many sources as there are workers. The context is of
// all that is read through them, until they are closed.
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

// use calls do with a source that nobody else uses meanwhile.
func (p *sources) use(do func(*source) error) error {
	s := <-p.free
	defer func() { p.free <- s }()
	return do(s)
}

// close closes the sources, of which none is in use.
func (p *sources) close() error {
	var all []error
	for len(p.free) > 0 {
		all = append(all, (<-p.free).close())
	}
	return errors.Join(all...)
}
