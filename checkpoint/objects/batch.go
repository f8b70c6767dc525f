package objects

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"prdrunner/checkpoint/store"
)

// maxSyncs bounds how many files of a batch are synced at once. File systems combine fsyncs
// that are waiting, so that 32 cost little more than one.
const maxSyncs = 32

// tempBase is the base name of temporary files (see store.CreateTemp).
const tempBase = "object"

// errEnded says that a batch was committed or abandoned.
var errEnded = errors.New("the batch has ended")

// Batch writes objects that become durable together. Every method is safe for concurrent
// use, except that Commit or Abandon must be the last call.
//
// Put and Copy write a temporary file and sync it in the background. Commit waits for the
// syncs and renames the files to their final names. A stored object is not written again:
// the batch reads it once, and replaces it if it is damaged. After a failed fsync the
// state of the disk is unknown, so that the batch refuses further writes and Commit
// fails. Any other error of Put or Copy concerns only the object of the same call.
type Batch struct {
	s       *Store
	makeDir func() error

	slots chan struct{}
	syncs sync.WaitGroup

	mu       sync.Mutex
	added    map[name]pending
	verified map[name]bool   // stored objects that were read to their end
	dirs     map[string]bool // subdirectories to be synced
	temps    map[string]bool
	err      error // is final
}

// pending is an object that Commit has not renamed yet.
type pending struct {
	ref     Ref
	temp    string
	path    string
	invalid string // a file that has the name of the object but is invalid
}

// Begin starts a batch.
func (s *Store) Begin() *Batch {
	return &Batch{
		s: s, makeDir: sync.OnceValue(s.makeDir),
		slots: make(chan struct{}, maxSyncs),
		added: map[name]pending{}, verified: map[name]bool{}, dirs: map[string]bool{}, temps: map[string]bool{},
	}
}

// makeDir creates the directory of the store. An existing directory is synced too, once:
// the process that created it may have ended before its own sync.
func (s *Store) makeDir() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := filepath.Dir(s.dir)
	_, err := s.fs.Lstat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.dirDurable = false
		if err = store.MkdirAll(s.fs, parent); err == nil {
			err = s.fs.Mkdir(s.dir, store.DirPerm)
		}
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = store.MkdirAll(s.fs, s.dir) // fails if dir is not a directory
	}
	if err != nil || s.dirDurable {
		return err
	}
	if err := s.fs.SyncDir(parent); err != nil {
		return fmt.Errorf("sync %s: %w", parent, err)
	}
	s.dirDurable = true
	return nil
}

// Put adds an object with the given bytes. It is durable when Commit has returned nil.
func (b *Batch) Put(ctx context.Context, data []byte) (Ref, error) {
	if err := b.prepareWrite(ctx); err != nil {
		return Ref{}, fmt.Errorf("put an object: %w", err)
	}
	ref, err := b.putBytes(ctx, data)
	if err != nil {
		return Ref{}, fmt.Errorf("put an object: %w", err)
	}
	return ref, nil
}

// putBytes computes the name first, so that it writes no file for a stored object.
func (b *Batch) putBytes(ctx context.Context, data []byte) (Ref, error) {
	sum := sha256.Sum256(data)
	n := nameOf(sum[:])
	ref := Ref{Digest: n.digest(), Size: int64(len(data))}
	invalid, there, err := b.isIntact(ctx, n, ref.Size)
	if there || err != nil {
		return ref, err
	}
	stored, compressed, err := b.s.compress(data)
	if err != nil {
		return Ref{}, err
	}
	f, temp, err := b.create()
	if err != nil {
		return Ref{}, err
	}
	if err := writeAll(f, stored); err != nil {
		return Ref{}, errors.Join(err, b.discard(f, temp))
	}
	p := pending{ref: ref, temp: temp, path: b.s.targetPath(n, compressed), invalid: invalid}
	return ref, b.enqueue(ctx, n, p, f)
}

// Copy adds an object with the bytes of a reader, in bounded memory.
func (b *Batch) Copy(ctx context.Context, r io.Reader) (Ref, error) {
	if err := b.prepareWrite(ctx); err != nil {
		return Ref{}, fmt.Errorf("copy an object: %w", err)
	}
	first := b.s.buffer()
	ended, err := first.readFrom(r)
	var ref Ref
	switch {
	case err != nil:
		b.s.buffers.Put(first)
	case ended:
		ref, err = b.putBytes(ctx, first.bytes())
		b.s.buffers.Put(first)
	default:
		ref, err = b.stream(ctx, first, r)
	}
	if err != nil {
		return Ref{}, fmt.Errorf("copy an object: %w", err)
	}
	return ref, nil
}

// stream adds an object that is longer than one buffer. It takes over the first buffer.
func (b *Batch) stream(ctx context.Context, first *buffer, r io.Reader) (Ref, error) {
	_, compressed, err := b.s.compress(first.bytes())
	if err != nil {
		return Ref{}, err
	}
	f, temp, err := b.create()
	if err != nil {
		return Ref{}, err
	}
	pusher := store.NewPusher(f)
	sum, size, err := b.s.copyEncoding(ctx, pusher, compressed, first, r)
	if failed := pusher.Wait(); failed != nil {
		b.setError(fmt.Errorf("store an object: %w", failed))
		err = failed
	}
	if err != nil {
		return Ref{}, errors.Join(err, b.discard(f, temp))
	}
	return b.finish(ctx, sum, size, f, temp, compressed)
}

// finish adds a complete temporary file, or discards it if the object is stored.
func (b *Batch) finish(ctx context.Context, sum []byte, size int64, f store.File, temp string, compressed bool) (Ref, error) {
	n := nameOf(sum)
	ref := Ref{Digest: n.digest(), Size: size}
	invalid, there, err := b.isIntact(ctx, n, size)
	if there || err != nil {
		return ref, errors.Join(err, b.discard(f, temp))
	}
	p := pending{ref: ref, temp: temp, path: b.s.targetPath(n, compressed), invalid: invalid}
	return ref, b.enqueue(ctx, n, p, f)
}

// copyEncoding calls copyHashing, through an encoder if the object is compressed.
func (s *Store) copyEncoding(ctx context.Context, f io.Writer, compressed bool, first *buffer, r io.Reader) ([]byte, int64, error) {
	if !compressed {
		return s.copyHashing(ctx, f, first, r)
	}
	e, err := newEncoder(f, 1)
	if err != nil {
		return nil, 0, err
	}
	sum, size, err := s.copyHashing(ctx, e, first, r)
	if closed := e.Close(); err == nil {
		err = closed
	}
	return sum, size, err
}

// prepareWrite creates the directory, and returns the error of a batch that can no longer
// be committed.
func (b *Batch) prepareWrite(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.lastError(); err != nil {
		return err
	}
	return b.makeDir()
}

func (b *Batch) lastError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// setError records an error, after which the batch refuses writes. Only the first one
// counts.
func (b *Batch) setError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

func (b *Batch) create() (store.File, string, error) {
	f, temp, err := store.CreateTemp(b.s.fs, filepath.Join(b.s.dir, tempBase))
	if err != nil {
		return nil, "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.temps[temp] = true
	return f, temp, nil
}

// discard closes and removes a temporary file.
func (b *Batch) discard(f store.File, temp string) error {
	err := f.Close()
	return errors.Join(err, b.removeTemp(temp))
}

func (b *Batch) removeTemp(temp string) error {
	if err := b.s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.temps, temp)
	return nil
}

// enqueue records an object, and syncs and closes its file in a goroutine. It waits while
// maxSyncs are running.
func (b *Batch) enqueue(ctx context.Context, n name, p pending, f store.File) error {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), b.discard(f, p.temp))
	}
	b.mu.Lock()
	_, twice := b.added[n]
	if !twice && b.err == nil {
		b.added[n] = p
		b.dirs[n.subdirectory()] = true
	}
	err := b.err
	b.mu.Unlock()
	if twice || err != nil {
		<-b.slots
		return errors.Join(err, b.discard(f, p.temp))
	}
	b.syncs.Go(func() {
		defer func() { <-b.slots }()
		err := f.Sync()
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			b.setError(fmt.Errorf("store object %s: %w", p.ref.Digest, err))
		}
	})
	return nil
}
