package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"prdrunner/checkpoint/workspace/tree"
)

// bufferSize is the number of bytes that are read from a file at once.
const bufferSize = 256 << 10

// read passes the bytes of a regular file to consume, which reads them to their end, and
// checks that no process wrote to the file meanwhile. It returns the file's status. It
// never waits for the writer of a pipe.
func (w *Workspace) read(ctx context.Context, at tree.Place, consume func(r io.Reader, from *origin) error) (os.FileInfo, error) {
	f, err := at.Open()
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
	if before.Size() > maxFile {
		return nil, errTooLong
	}
	// Read at most one byte more than the size, since a file may grow as fast as it is read.
	from := &origin{file: f, size: before.Size(), perm: before.Mode().Perm(), below: &contextReader{ctx: ctx, r: f}}
	counted := &countingReader{r: io.LimitReader(from.below, before.Size()+1)}
	err = consume(counted, from)
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
	if counted.n != before.Size() || tree.StatOf(before) != tree.StatOf(after) {
		return nil, ErrUnstable
	}
	return before, nil
}

// origin is a file that is being read.
type origin struct {
	file  *os.File
	size  int64
	perm  fs.FileMode
	below *contextReader // the reader of the bytes; consume may set it to a clone of the file before it reads
}

// contextReader is a reader that fails once its context ends.
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

// copy copies bytes through a shared buffer.
func (w *Workspace) copy(to io.Writer, from io.Reader) error {
	buf := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buf)
	// Hide the methods of both ends, which would use smaller buffers of their own.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *buf)
	return err
}

// failed adds the path to an error.
func failed(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }
