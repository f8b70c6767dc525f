package bundle

import (
	"hash"
	"io"
)

// meter counts and hashes the bytes that are written through it.
type meter struct {
	w    io.Writer
	sum  hash.Hash
	size int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	m.sum.Write(p[:n])
	m.size += int64(n)
	return n, err
}
