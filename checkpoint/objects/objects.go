// Package objects keeps the bytes of files under their own SHA-256, so that
// the same bytes are kept once, and what is read can be verified.
//
// An object is the file ab/cdef… (the first two hex digits of its name, then
// the rest) in the directory of the store, or ab/cdef….zst where it is
// compressed; its name is that of the bytes before compression. Objects never
// change. They are written by a Batch, many of which share their flushes, and
// removed by Sweep, while nobody else writes.
//
// Read name.go for the names, batch.go and copy.go for writing, read.go for
// reading, sweep.go for what is there and what goes.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"

	"prdrunner/checkpoint/store"
)

// Options say how objects are written. Reading does not depend on them.
type Options struct {
	Compress bool // with zstd, where that saves something
}

// Store is a directory of objects. It is safe for concurrent use.
type Store struct {
	fs  store.FS
	dir string
	o   Options

	buffers  sync.Pool                     // of *buffer
	decoders sync.Pool                     // of *zstd.Decoder
	whole    func() (*zstd.Encoder, error) // of what is in memory

	mu       sync.Mutex
	anchored bool            // the name of dir is durable
	settled  map[string]bool // subdirectories whose names are
}

// New returns the objects in a directory, which is made with the first one.
func New(fsys store.FS, dir string, o Options) *Store {
	return &Store{
		fs: fsys, dir: dir, o: o,
		whole:   sync.OnceValues(func() (*zstd.Encoder, error) { return newEncoder(nil, 0) }),
		settled: map[string]bool{},
	}
}

// MaxSize is how long an object may be, in bytes.
const MaxSize = 64 << 30

// Ref names an object: Digest is "sha256:" and 64 hex digits, Size the length
// of its bytes.
type Ref struct {
	Digest string
	Size   int64
}

// Info is an object as it lies on disk.
type Info struct {
	Digest string
	Stored int64 // bytes of its file, or of both where it is kept in both forms
}

// DamagedError says that an object's bytes are not what its name says.
type DamagedError struct {
	Path   string
	Digest string
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("object %s is damaged: %s: %s", e.Digest, e.Path, e.Detail)
}

// NotExistError says that there is no object of a name. It is fs.ErrNotExist.
type NotExistError struct{ Digest string }

func (e *NotExistError) Error() string { return "there is no object " + e.Digest }
func (e *NotExistError) Unwrap() error { return fs.ErrNotExist }

// Errors of naming and of reading an object.
var (
	// ErrDigest says that something is not the name of an object.
	ErrDigest = errors.New("not the name of an object")
	// ErrTooLarge says that an object is longer than its reader allows.
	ErrTooLarge = errors.New("the object is larger than allowed")
)

// Has reports whether there is an object of the given name. It does not read it.
func (s *Store) Has(digest string) (bool, error) {
	n, err := parse(digest)
	if err != nil {
		return false, err
	}
	_, err = s.find(n)
	var damaged *DamagedError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
		return false, nil
	}
	return err == nil, err
}

// Path returns the file of an object, for people who want to read it by hand,
// and whether it is compressed with zstd; or fs.ErrNotExist.
func (s *Store) Path(digest string) (path string, compressed bool, err error) {
	n, err := parse(digest)
	if err != nil {
		return "", false, err
	}
	f, err := s.find(n)
	return f.path, f.compressed, err
}

// Verify reads an object to its end: nil, fs.ErrNotExist, or *DamagedError.
func (s *Store) Verify(ctx context.Context, digest string) error {
	r, err := s.Open(digest)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	buf := s.buffer()
	defer s.buffers.Put(buf)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify object %s: %w", digest, err)
		}
		if _, err := r.Read(buf.data[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Remove removes an object, such as a damaged one. One that is not there is no
// error.
func (s *Store) Remove(digest string) error {
	n, err := parse(digest)
	if err != nil {
		return err
	}
	for _, path := range s.paths(n) {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove object %s: %w", digest, err)
		}
	}
	err = s.fs.SyncDir(filepath.Join(s.dir, n.dir()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove object %s: %w", digest, err)
	}
	return nil
}
