package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/store"
)

// Check checks the name and the length of an object's file, and does not read it. It
// returns nil, fs.ErrNotExist, or *DamagedError.
func (s *Store) Check(r Ref) error {
	n, err := parseDigest(r.Digest)
	if err != nil {
		return err
	}
	f, err := s.locate(n)
	if err == nil && !f.fitsSize(r.Size) {
		err = &DamagedError{Path: f.path, Digest: r.Digest, Detail: fmt.Sprintf("its file has %d bytes", f.size)}
	}
	return err
}

// CheckAll calls Check for many objects, and tell with the index and the result of each. It
// stops at the first error of tell. It is fastest if refs are sorted by Subdirectory,
// because it keeps one subdirectory open.
func (s *Store) CheckAll(refs []Ref, tell func(i int, err error) error) error {
	check := checker{s: s}
	defer check.closeDir()
	for i, r := range refs {
		var found error
		if !check.fits(r) {
			found = s.Check(r) // returns the reason
		}
		if err := tell(i, found); err != nil {
			return err
		}
	}
	return nil
}

// checker checks the files of many objects, and keeps the last subdirectory open.
type checker struct {
	s   *Store
	sub string
	dir *store.Dir // nil if it cannot be opened
}

// fits reports whether an object has a file that can hold it, by name and length.
func (l *checker) fits(r Ref) bool {
	n, err := parseDigest(r.Digest)
	if err != nil {
		return false
	}
	if l.openSubdirectory(n.subdirectory()); l.dir == nil {
		return false
	}
	base, compressed := string(n[dirLength:]), false
	mode, size, err := l.dir.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		compressed = true
		mode, size, err = l.dir.Lstat(base + zstExt)
	}
	return err == nil && mode.IsRegular() && file{compressed: compressed, size: size}.fitsSize(r.Size)
}

func (l *checker) openSubdirectory(sub string) {
	if l.sub == sub {
		return
	}
	l.closeDir()
	l.sub = sub
	if dir, err := store.OpenDir(l.s.fs, filepath.Join(l.s.dir, sub)); err == nil {
		l.dir = dir
	}
}

func (l *checker) closeDir() {
	if l.dir != nil {
		_ = l.dir.Close()
		l.dir = nil
	}
}

// Has reports whether an object of this name and size is stored or was added, so that the
// caller need not write it. It does not read the object. Commit syncs the object's
// directory, because the process that wrote the object may have ended before its own sync.
func (b *Batch) Has(r Ref) (bool, error) {
	n, err := parseDigest(r.Digest)
	if err != nil {
		return false, err
	}
	if err := b.lastError(); err != nil {
		return false, err
	}
	_, there, err := b.isStored(n, r.Size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !there {
		return false, nil
	}
	return true, b.makeDir()
}

// isStored reports whether an object need not be written, because it was added before or
// its file has the right size. It records the subdirectory for Commit to sync. A file that
// cannot be the object is returned as invalid, to be replaced.
func (b *Batch) isStored(n name, size int64) (invalid string, there bool, err error) {
	if b.isAdded(n) {
		return "", true, nil
	}
	f, err := b.s.locate(n)
	var damaged *DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case errors.As(err, &damaged):
		return f.path, false, nil
	case err != nil:
		return "", false, err
	case !f.fitsSize(size):
		return f.path, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirs[n.subdirectory()] = true
	return "", true, nil
}

// isIntact is like isStored, but also reads a stored object, once per batch. An object
// that cannot be read is invalid, like a damaged object: Runner could not restore it.
func (b *Batch) isIntact(ctx context.Context, n name, size int64) (invalid string, there bool, err error) {
	invalid, there, err = b.isStored(n, size)
	if !there || b.isAdded(n) || b.isVerified(n) {
		return invalid, there, err
	}
	f, err := b.s.locate(n)
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
	b.verified[n] = true
	return "", true, nil
}

func (b *Batch) isAdded(n name) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.added[n]
	return ok
}

func (b *Batch) isVerified(n name) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.verified[n]
}
