package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/store"
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

// CheckAll is Check of many objects, and tells of each, by its index, until that is
// an error. In the order of Subdirectory they cost least, since one after the other is
// opened.
func (s *Store) CheckAll(refs []Ref, tell func(i int, err error) error) error {
	look := looker{s: s}
	defer look.close()
	for i, r := range refs {
		var found error
		if !look.mayHold(r) {
			found = s.Check(r) // says what is wrong
		}
		if err := tell(i, found); err != nil {
			return err
		}
	}
	return nil
}

// looker looks at many objects, and keeps the subdirectory of the last one open.
type looker struct {
	s   *Store
	sub string
	dir *store.Dir // nil: it can't be opened
}

// mayHold reports whether the file of an object is there, as far as its name and
// length tell. It does not say why not.
func (l *looker) mayHold(r Ref) bool {
	n, err := parse(r.Digest)
	if err != nil {
		return false
	}
	if l.enter(n.dir()); l.dir == nil {
		return false
	}
	base, compressed := string(n[dirLength:]), false
	mode, size, err := l.dir.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		compressed = true
		mode, size, err = l.dir.Lstat(base + zstExt)
	}
	return err == nil && mode.IsRegular() && file{compressed: compressed, size: size}.mayHold(r.Size)
}

func (l *looker) enter(sub string) {
	if l.sub == sub {
		return
	}
	l.close()
	l.sub = sub
	if dir, err := store.OpenDir(l.s.fs, filepath.Join(l.s.dir, sub)); err == nil {
		l.dir = dir
	}
}

func (l *looker) close() {
	if l.dir != nil {
		_ = l.dir.Close() // nothing was written through it
		l.dir = nil
	}
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
