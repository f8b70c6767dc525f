// Package objects stores the contents of files under their SHA-256. Equal contents are
// stored once, and each read verifies the bytes.
//
// The object abcdef… is the file ab/cdef… in the directory of the store (the first two
// hex digits of its name are a subdirectory), or ab/cdef….zst if it is compressed. The
// name is the SHA-256 of the bytes before compression. An object never changes. A Batch
// writes objects, many of which share their fsyncs. Sweep removes objects, under a lock
// that keeps writers away.
//
// This package knows digests and bytes, but not what refers to an object: package inventory
// finds out which objects are needed, and package prune removes the others. To read or write another form of an object (such
// as another compression), begin with name.go and compress.go.
//
// Read objects.go for the store, batch.go and commit.go for writing, reuse.go for objects
// that a batch does not write again, read.go for reading, sweep.go for removing.
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
	Compress bool // with zstd, if that saves space
}

// Store is a directory of objects. It is safe for concurrent use.
type Store struct {
	fs  store.FS
	dir string
	o   Options

	buffers  sync.Pool                     // of *buffer
	decoders sync.Pool                     // of *zstd.Decoder
	encoder  func() (*zstd.Encoder, error) // compresses bytes that are in memory

	mu         sync.Mutex
	dirDurable bool            // the name of dir in its parent is durable
	durable    map[string]bool // subdirectories whose names in dir are durable
}

// New returns the store of objects in a directory. The first batch that writes creates the
// directory.
func New(fsys store.FS, dir string, o Options) *Store {
	return &Store{
		fs: fsys, dir: dir, o: o,
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) { return newEncoder(nil, 0) }),
		durable: map[string]bool{},
	}
}

// MaxSize is the maximum length of an object, in bytes.
const MaxSize = 64 << 30

// Ref names an object: Digest is "sha256:" and 64 hex digits, Size the length
// of its bytes.
type Ref struct {
	Digest string
	Size   int64
}

// Info describes a stored object.
type Info struct {
	Digest string
	Stored int64 // bytes on disk, of both files if there is a compressed and an uncompressed one
}

// DamagedError says that the bytes of an object do not have the digest in its name.
type DamagedError struct {
	Path   string
	Digest string
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("object %s is damaged: %s: %s", e.Digest, e.Path, e.Detail)
}

// NotExistError says that the store has no object of this digest. It wraps fs.ErrNotExist.
type NotExistError struct{ Digest string }

func (e *NotExistError) Error() string { return "there is no object " + e.Digest }
func (e *NotExistError) Unwrap() error { return fs.ErrNotExist }

// IsLost reports whether an error says that an object is missing or damaged.
func IsLost(err error) bool {
	var damaged *DamagedError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged)
}

// LostMessage returns the message of the *NotExistError in err if there is one, else the
// message of err.
func LostMessage(err error) string {
	if lost := (*NotExistError)(nil); errors.As(err, &lost) {
		return lost.Error()
	}
	return err.Error()
}

// Errors of naming and of reading an object.
var (
	// ErrDigest says that a text is not the digest of an object.
	ErrDigest = errors.New("not the name of an object")
	// ErrTooLarge says that an object is longer than its reader allows.
	ErrTooLarge = errors.New("the object is larger than allowed")
)

// Has reports whether the store has an object. It does not read the object.
func (s *Store) Has(digest string) (bool, error) {
	n, err := parseDigest(digest)
	if err != nil {
		return false, err
	}
	_, err = s.locate(n)
	var damaged *DamagedError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
		return false, nil
	}
	return err == nil, err
}

// Path returns the file of an object, so that users can read it with other tools, and
// whether the file is compressed with zstd. It returns fs.ErrNotExist for a missing
// object.
func (s *Store) Path(digest string) (path string, compressed bool, err error) {
	n, err := parseDigest(digest)
	if err != nil {
		return "", false, err
	}
	f, err := s.locate(n)
	return f.path, f.compressed, err
}

// Verify reads the whole object. It returns nil, fs.ErrNotExist, or *DamagedError.
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

// Remove removes an object, for example a damaged one. A missing object is no error.
func (s *Store) Remove(digest string) error {
	n, err := parseDigest(digest)
	if err != nil {
		return err
	}
	for _, path := range s.candidates(n) {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove object %s: %w", digest, err)
		}
	}
	err = s.fs.SyncDir(filepath.Join(s.dir, n.subdirectory()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove object %s: %w", digest, err)
	}
	return nil
}
