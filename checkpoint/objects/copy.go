package objects

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
)

// chunk is how much is read and written at once, and how much at most is
// looked at as a whole before anything is written. Larger ones take more memory
// and were not measurably faster.
const chunk = 1 << 18

// lanes is how many chunks are under way: one is read or written while others
// are hashed.
const lanes = 4

// buffer is a chunk of the bytes of an object.
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

// fill reads until the buffer is full or the reader ends, which is no error
// but reported. It differs from io.ReadFull in that a reader's own
// io.ErrUnexpectedEOF stays an error: a source that was cut off is no source.
func (b *buffer) fill(r io.Reader) (ended bool, err error) {
	const patience = 100 // reads of nothing
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

// hasher hashes chunks beside the one who reads and writes them.
type hasher struct {
	full chan *buffer // to be hashed
	free chan *buffer // hashed
	done chan struct{}
	sum  []byte
}

func startHasher() *hasher {
	h := &hasher{full: make(chan *buffer, lanes), free: make(chan *buffer, lanes), done: make(chan struct{})}
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

// finish ends the goroutine, and gives the buffers back.
func (h *hasher) finish(s *Store) []byte {
	close(h.full)
	<-h.done
	for len(h.free) > 0 {
		s.buffers.Put(<-h.free)
	}
	return h.sum
}

// pump copies a chunk and what follows it to w, and returns its sum. The chunk
// becomes its own.
func (s *Store) pump(ctx context.Context, w io.Writer, b *buffer, r io.Reader) (sum []byte, size int64, err error) {
	h := startHasher()
	for range lanes - 1 {
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
			ended, err = b.fill(r)
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
