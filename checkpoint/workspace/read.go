package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// bufferSize is how much of a file is read at once.
const bufferSize = 256 << 10

// read gives the bytes of a regular file to consume, which reads them to their
// end, and makes sure that nobody wrote to the file meanwhile. It returns
// what the file was like. It never waits for the other end of a pipe.
func (w *Workspace) read(ctx context.Context, dir *os.Root, name string, consume func(r io.Reader, size int64) error) (os.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	// A file that grows as fast as it is read has an end, too.
	counted := &countingReader{r: io.LimitReader(&contextReader{ctx: ctx, r: f}, before.Size()+1)}
	err = consume(counted, before.Size())
	if counted.n > before.Size() || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrUnstable
	}
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if counted.n != before.Size() || statOf(before) != statOf(after) {
		return nil, ErrUnstable
	}
	return before, nil
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// summer makes the digests of what is written to it.
type summer struct {
	sha  hash.Hash
	blob hash.Hash // nil: not asked for
}

func (w *Workspace) newSummer(size int64, withBlob bool) *summer {
	s := &summer{sha: sha256.New()}
	if withBlob {
		s.blob = w.o.Git.NewBlobHash(size)
	}
	return s
}

func (s *summer) Write(p []byte) (int, error) {
	if s.blob != nil {
		_, _ = s.blob.Write(p) // hashes take everything
	}
	return s.sha.Write(p)
}

func (s *summer) sums() sums {
	var all sums
	s.sha.Sum(all.sha[:0])
	if s.blob != nil {
		all.blob = string(s.blob.Sum(nil))
	}
	return all
}

// copy copies through a buffer that is used again.
func (w *Workspace) copy(to io.Writer, from io.Reader) error {
	buf := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buf)
	// Neither end may bring its own, smaller one.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *buf)
	return err
}

func digestOf(sha [32]byte) string { return "sha256:" + hex.EncodeToString(sha[:]) }

// sumText returns the digests of a link's target.
func (w *Workspace) sumText(target string, withBlob bool) sums {
	s := w.newSummer(int64(len(target)), withBlob)
	_, _ = io.WriteString(s, target) // hashes take everything
	return s.sums()
}

// failed names the path in an error.
func failed(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }
