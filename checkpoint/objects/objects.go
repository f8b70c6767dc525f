// Package objects keeps the bytes of files under their own SHA-256, so that
// the same bytes are kept once, and what is read can be verified.
//
// An object is the file ab/cdef… (the first two hex digits of its name, then
// the rest) in the directory of the store, or ab/cdef….zst where it is
// compressed; its name is that of the bytes before compression. Objects never
// change. They are written by a Batch, many of which share their flushes, and
// removed by Sweep, while nobody else writes.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

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
}

// Ref names an object: Digest is "sha256:" and 64 hex digits, Size the length
// of its bytes.
type Ref struct {
	Digest string
	Size   int64
}

// Info is an object as it lies on disk.
type Info struct {
	Digest string
	Stored int64 // bytes of its file
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

// ErrDigest says that something is not the name of an object.
var ErrDigest = errors.New("not the name of an object")

// New returns the objects in a directory, which is made with the first one.
func New(fsys store.FS, dir string, o Options) *Store { return &Store{fs: fsys, dir: dir, o: o} }

var errNotBuilt = errors.New("not built")

// Batch writes objects that become durable together. It is safe for
// concurrent use, but for Commit and Abandon, of which the last call must be
// one.
type Batch struct{ s *Store }

// Begin starts a batch.
func (s *Store) Begin() *Batch { return &Batch{s: s} }

// Put adds bytes. They are an object when Commit has returned.
func (b *Batch) Put(ctx context.Context, data []byte) (Ref, error) { return Ref{}, errNotBuilt }

// Copy adds what a reader gives, hashing while it copies, in bounded memory.
func (b *Batch) Copy(ctx context.Context, r io.Reader) (Ref, error) { return Ref{}, errNotBuilt }

// Commit makes all that was added durable, under its names.
func (b *Batch) Commit(ctx context.Context) error { return errNotBuilt }

// Abandon drops what was added and not committed. After Commit it does nothing.
func (b *Batch) Abandon() error { return nil }

// Has reports whether there is an object of the given name. It does not read it.
func (s *Store) Has(digest string) (bool, error) { return false, errNotBuilt }

// Open returns the bytes of an object, or fs.ErrNotExist. They are verified
// while they are read: the read that would reach their end returns a
// *DamagedError in place of io.EOF if they are not what the name says.
func (s *Store) Open(digest string) (io.ReadCloser, error) { return nil, errNotBuilt }

// Get returns the bytes of an object that is at most limit bytes long,
// verified.
func (s *Store) Get(ctx context.Context, digest string, limit int64) ([]byte, error) {
	return nil, errNotBuilt
}

// Verify reads an object to its end: nil, fs.ErrNotExist, or *DamagedError.
func (s *Store) Verify(ctx context.Context, digest string) error { return errNotBuilt }

// Remove removes an object, such as a damaged one. One that is not there is no
// error.
func (s *Store) Remove(digest string) error { return errNotBuilt }

// All yields every object, in the order of the names.
func (s *Store) All(ctx context.Context) iter.Seq2[Info, error] { return nil }

// Swept is what a Sweep removed, or would.
type Swept struct {
	Objects int
	Bytes   int64 // on disk
	Kept    int
}

// Sweep removes the objects that keep does not want, and what was left behind
// by batches that were cut short. The caller makes sure that nobody writes
// meanwhile. With dryRun it only counts.
func (s *Store) Sweep(ctx context.Context, keep func(digest string) bool, dryRun bool) (Swept, error) {
	return Swept{}, errNotBuilt
}
