package objects

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
)

// chunk is the size of a buffer in bytes. An object that fits into one buffer is hashed
// before it is written. Larger chunks were not measurably faster.
const chunk = 1 << 18

// maxChunks is the number of buffers per copy: one is read or written while the hasher
// works on the others.
const maxChunks = 4

// buffer holds one chunk of an object.
type buffer struct {
	data [chunk]byte
	n    int
}

func (b *buffer) bytes() []byte { return b.data[:b.n] }

func (s *Store) buffer() *buffer {
	if b, ok := s.buffers.Get().(*buffer); ok {
		return b
	}
	return new(buffer)
}

// readFrom reads until the buffer is full or r ends, and reports whether r ended. Unlike
// io.ReadFull it keeps an io.ErrUnexpectedEOF of r as an error: the source was cut off.
func (b *buffer) readFrom(r io.Reader) (ended bool, err error) {
	const patience = 100 // reads of no bytes in a row
	b.n = 0
	for idle := 0; b.n < len(b.data); {
		n, err := r.Read(b.data[b.n:])
		b.n += n
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case n > 0:
			idle = 0
		default:
			if idle++; idle > patience {
				return false, io.ErrNoProgress
			}
		}
	}
	return false, nil
}

// hasher hashes chunks in a goroutine while the caller reads and writes others.
type hasher struct {
	full chan *buffer // waiting for the hasher
	free chan *buffer // hashed, can be filled again
	done chan struct{}
	sum  []byte
}

func startHasher() *hasher {
	h := &hasher{full: make(chan *buffer, maxChunks), free: make(chan *buffer, maxChunks), done: make(chan struct{})}
	go func() {
		defer close(h.done)
		hash := sha256.New()
		for b := range h.full {
			_, _ = hash.Write(b.bytes()) // a hash never fails
			h.free <- b
		}
		h.sum = hash.Sum(nil)
	}()
	return h
}

// finish ends the goroutine, returns the buffers to the pool, and returns the sum.
func (h *hasher) finish(s *Store) []byte {
	close(h.full)
	<-h.done
	for len(h.free) > 0 {
		s.buffers.Put(<-h.free)
	}
	return h.sum
}

// copyHashing writes the first buffer and the rest of r to w, and returns the sum and the
// length. It takes over the buffer.
func (s *Store) copyHashing(ctx context.Context, w io.Writer, b *buffer, r io.Reader) (sum []byte, size int64, err error) {
	h := startHasher()
	for range maxChunks - 1 {
		h.free <- s.buffer()
	}
	for ended := false; err == nil; {
		h.full <- b
		if err = writeAll(w, b.bytes()); err != nil {
			break
		}
		size += int64(b.n)
		if ended {
			break
		}
		if err = ctx.Err(); err == nil {
			b = <-h.free
			ended, err = b.readFrom(r)
		}
	}
	sum = h.finish(s)
	return sum, size, err
}

func writeAll(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}
