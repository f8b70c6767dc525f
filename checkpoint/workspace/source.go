package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// source reads the bytes of many entries. One goroutine may use it.
type source struct {
	from  *Contents
	blobs *git.BlobReader // nil: opened by the first call that needs it, with that call's context
	blob  string          // git's name of the bytes that were read last; "": they did not come from git
}

// cloneTo shares the bytes of an entry's object with the file to, which must be empty.
// If it returns true, it has verified the file itself. If it returns false, the caller
// must use writeAny, which writes the bytes or reports the error.
func (s *source) cloneTo(ctx context.Context, e Entry, to *os.File) (bool, error) {
	s.blob = ""
	if e.Size <= objects.CloneAbove || s.from.objects == nil || !s.from.objects.Clone(to, e.Digest) {
		return false, nil
	}
	sha := sha256.New()
	if err := s.from.buffers.copyBytes(sha, &contextReader{ctx: ctx, r: to}); err != nil {
		return false, err
	}
	return objects.DigestOf(sha.Sum(nil)) == e.Digest, nil
}

// writeAny writes the bytes of an entry, verified when it returns nil. If git's blob is
// damaged, it uses the object. begin returns the writer; it is called again if the bytes
// are written again from the beginning.
func (s *source) writeAny(ctx context.Context, e Entry, begin func() (io.Writer, error)) error {
	to, err := begin()
	if err != nil {
		return err
	}
	err = s.writeTo(ctx, e, to)
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		return err
	}
	e.Blob = ""
	if to, failed := begin(); failed != nil || s.writeTo(ctx, e, to) != nil {
		return errors.Join(failed, err)
	}
	return nil
}

// writeTo writes the bytes of an entry like writeAny, but without the second attempt: a
// damaged blob is an error.
func (s *source) writeTo(ctx context.Context, e Entry, to io.Writer) error {
	s.blob = ""
	if e.Blob != "" && s.from.git != nil {
		done, err := s.writeBlob(ctx, e, to)
		if done {
			s.blob = e.Blob
		}
		if done || err != nil {
			return err
		}
	}
	r, err := s.from.Open(ctx, Entry{Path: e.Path, Size: e.Size, Digest: e.Digest})
	if err != nil {
		return err
	}
	counted := &countingReader{r: &contextReader{ctx: ctx, r: r}}
	err = s.from.buffers.copyBytes(to, counted)
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
		if s.blobs, err = s.from.git.Blobs(ctx); err != nil {
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
	case err != nil, objects.DigestOf(sha.Sum(nil)) != e.Digest:
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

// sources holds a source for each of several goroutines.
type sources struct {
	free chan *source
}

// newSources returns a source for each worker. All reads through them end with ctx. The
// caller must close them.
func (c *Contents) newSources(ctx context.Context) (*sources, error) {
	p := &sources{free: make(chan *source, tree.Workers())}
	for range tree.Workers() {
		s := &source{from: c}
		if c.git != nil {
			var err error
			if s.blobs, err = c.git.Blobs(ctx); err != nil {
				return nil, errors.Join(err, p.close())
			}
		}
		p.free <- s
	}
	return p, nil
}

// withSource calls do with a source that no other goroutine uses at the same time.
func (p *sources) withSource(do func(*source) error) error {
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

// locate reads the bytes of an entry. If git's blob is damaged and the object is not, it
// removes the blob from the entry.
func (s *source) locate(ctx context.Context, e *Entry) error {
	began := 0
	err := s.writeAny(ctx, *e, func() (io.Writer, error) {
		began++
		return io.Discard, nil
	})
	if err == nil && began > 1 {
		e.Blob = ""
	}
	return err
}

// fillFile writes the bytes of an entry to a temporary file.
func (s *source) fillFile(ctx context.Context, e Entry, f *os.File) error {
	cloned, err := s.cloneTo(ctx, e, f)
	if cloned || err != nil {
		return err
	}
	pusher := store.NewPusher(staged{f})
	clean := e.Size <= objects.CloneAbove // no failed clone has written to the file
	err = s.writeAny(ctx, e, func() (io.Writer, error) {
		if clean {
			clean = false
			return pusher, nil
		}
		return pusher, errors.Join(pusher.Wait(), truncate(f))
	})
	if failed := pusher.Wait(); err == nil {
		err = failed
	}
	return err
}

// truncate truncates a file and seeks to its beginning.
func truncate(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.Truncate(0)
}
