package objects

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"prdrunner/checkpoint/store"
)

// CloneAbove is the length up to which a file is copied as fast as cloned.
const CloneAbove = 4 << 20

// Clone is a file that shares the bytes of another one, and is to be an object.
// Reading it gives these bytes, whatever becomes of the other file.
type Clone struct {
	b    *Batch
	in   store.File
	file store.File
	temp string
}

// Clone begins an object of a file without copying it, where it is long and not
// to be compressed and the file system can share bytes; else it reports that it
// does not, and Copy does. Keep must be called.
func (b *Batch) Clone(ctx context.Context, from *os.File, size int64) (c *Clone, shared bool, err error) {
	if size <= CloneAbove || b.s.o.Compress {
		return nil, false, nil
	}
	if err = b.ready(ctx); err == nil {
		c, shared, err = b.clone(from)
	}
	if err != nil {
		return nil, false, fmt.Errorf("clone an object: %w", err)
	}
	return c, shared, nil
}

func (b *Batch) clone(from *os.File) (*Clone, bool, error) {
	f, temp, err := b.create()
	if err != nil {
		return nil, false, err
	}
	if !store.Clone(f, from) {
		return nil, false, b.drop(f, temp)
	}
	in, err := store.OpenRegular(b.s.fs, temp)
	if err != nil {
		return nil, false, errors.Join(err, b.drop(f, temp))
	}
	return &Clone{b: b, in: in, file: f, temp: temp}, true, nil
}

func (c *Clone) Read(p []byte) (int, error) { return c.in.Read(p) }

// Keep adds the clone to its batch, once a reader that gives its bytes has been
// read to its end.
func (c *Clone) Keep(ctx context.Context, r io.Reader) (Ref, error) {
	ref, err := c.keep(ctx, r)
	if err != nil {
		return Ref{}, fmt.Errorf("keep a clone: %w", err)
	}
	return ref, nil
}

func (c *Clone) keep(ctx context.Context, r io.Reader) (Ref, error) {
	hash, buf := sha256.New(), c.b.s.buffer()
	size, err := io.CopyBuffer(struct{ io.Writer }{hash}, struct{ io.Reader }{r}, buf.data[:])
	c.b.s.buffers.Put(buf)
	if closed := c.in.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return Ref{}, errors.Join(err, c.b.drop(c.file, c.temp))
	}
	return c.b.finish(ctx, hash.Sum(nil), size, c.file, c.temp, false)
}
