package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Check tells by its name and length whether an object can be there: nil,
// fs.ErrNotExist, or *DamagedError. It does not read it.
func (s *Store) Check(r Ref) error {
	n, err := parse(r.Digest)
	if err != nil {
		return err
	}
	f, err := s.find(n)
	if err == nil && !f.mayHold(r.Size) {
		err = &DamagedError{Path: f.path, Digest: r.Digest, Detail: fmt.Sprintf("its file has %d bytes", f.size)}
	}
	return err
}

// Has reports whether an object of the given name and size is there, or was
// added, so that its bytes need not be. It does not read it. Commit makes sure
// that its name is durable, which it need not be: whoever wrote it may have
// been cut short.
func (b *Batch) Has(r Ref) (bool, error) {
	n, err := parse(r.Digest)
	if err != nil {
		return false, err
	}
	if err := b.failed(); err != nil {
		return false, err
	}
	_, there, err := b.has(n, r.Size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !there {
		return false, nil
	}
	return true, b.prepare()
}

// has reports whether an object need not be written: it was added before, or
// is there, as far as can be told without reading it. That it is there does
// not mean that its name is durable. Something else of its name is wrong.
func (b *Batch) has(n name, size int64) (wrong string, there bool, err error) {
	if b.isAdded(n) {
		return "", true, nil
	}
	f, err := b.s.find(n)
	var damaged *DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case errors.As(err, &damaged):
		return f.path, false, nil
	case err != nil:
		return "", false, err
	case !f.mayHold(size):
		return f.path, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirs[n.dir()] = true
	return "", true, nil
}

// holds is has for who has the bytes at hand: what is there is read, once. What
// cannot be read to its end is as wrong as what is damaged, since nobody could
// get the bytes back from it.
func (b *Batch) holds(ctx context.Context, n name, size int64) (wrong string, there bool, err error) {
	wrong, there, err = b.has(n, size)
	if !there || err != nil || b.isAdded(n) || b.isWhole(n) {
		return wrong, there, err
	}
	f, err := b.s.find(n)
	if err == nil {
		err = b.s.Verify(ctx, n.digest())
	}
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err != nil:
		return f.path, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole[n] = true
	return "", true, nil
}

func (b *Batch) isAdded(n name) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.added[n]
	return ok
}

func (b *Batch) isWhole(n name) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.whole[n]
}
