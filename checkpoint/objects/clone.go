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

// CloneAbove is the length in bytes up to which copying a file is as fast as cloning it.
const CloneAbove = 4 << 20

// Clone is a temporary file that shares its blocks with another file, and becomes an object
// with Keep. Reading it gives the bytes of the moment of cloning, even if the other file
// changes.
type Clone struct {
	b    *Batch
	in   store.File
	file store.File
	temp string
}

// Clone starts an object by cloning a file. It reports false for a file of at most
// CloneAbove bytes, for a store that compresses, and on a file system that cannot share
// blocks; then the caller uses Copy. After true, the caller must call Keep.
func (b *Batch) Clone(ctx context.Context, from *os.File, size int64) (c *Clone, shared bool, err error) {
	if size <= CloneAbove || b.s.o.Compress {
		return nil, false, nil
	}
	if err = b.prepareWrite(ctx); err == nil {
		c, shared, err = b.cloneFile(from)
	}
	if err != nil {
		return nil, false, fmt.Errorf("clone an object: %w", err)
	}
	return c, shared, nil
}

func (b *Batch) cloneFile(from *os.File) (*Clone, bool, error) {
	f, temp, err := b.create()
	if err != nil {
		return nil, false, err
	}
	if !store.Clone(f, from) {
		return nil, false, b.discard(f, temp)
	}
	in, err := store.OpenRegular(b.s.fs, temp)
	if err != nil {
		return nil, false, errors.Join(err, b.discard(f, temp))
	}
	return &Clone{b: b, in: in, file: f, temp: temp}, true, nil
}

func (c *Clone) Read(p []byte) (int, error) { return c.in.Read(p) }

// Keep reads r to its end and adds the clone to its batch. The caller passes a reader that
// returns the bytes of the clone, such as the Clone itself.
func (c *Clone) Keep(ctx context.Context, r io.Reader) (Ref, error) {
	ref, err := c.finish(ctx, r)
	if err != nil {
		return Ref{}, fmt.Errorf("keep a clone: %w", err)
	}
	return ref, nil
}

func (c *Clone) finish(ctx context.Context, r io.Reader) (Ref, error) {
	hash, buf := sha256.New(), c.b.s.buffer()
	size, err := io.CopyBuffer(struct{ io.Writer }{hash}, struct{ io.Reader }{r}, buf.data[:])
	c.b.s.buffers.Put(buf)
	if closed := c.in.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return Ref{}, errors.Join(err, c.b.discard(c.file, c.temp))
	}
	return c.b.finish(ctx, hash.Sum(nil), size, c.file, c.temp, false)
}
