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

// flushes bounds how many files of a batch are synced at once. File systems
// join flushes that wait together, so that many cost little more than one.
const flushes = 32

// tempBase is the name that temporary files are made for.
const tempBase = "object"

// errEnded says that a batch was committed or abandoned.
var errEnded = errors.New("the batch has ended")

// Batch writes objects that become durable together. It is safe for
// concurrent use, but for Commit and Abandon, of which the last call must be
// one.
//
// What is added is written to temporary files at once, and synced beside the
// caller; Commit waits for that and gives the names. An object that is there is
// not written again: it is read, and replaced where it is damaged. When a sync
// fails, nobody knows what is on disk: the batch takes nothing more, and Commit
// fails. Another error of Put or Copy concerns only what was to be added.
type Batch struct {
	s       *Store
	prepare func() error

	slots chan struct{}
	syncs sync.WaitGroup

	mu    sync.Mutex
	added map[name]pending
	whole map[name]bool   // objects that were there, and read to their end
	dirs  map[string]bool // subdirectories to be synced
	temps map[string]bool
	err   error // is final
}

// pending is an object that has no name yet.
type pending struct {
	ref   Ref
	temp  string
	path  string
	wrong string // a file that is not the object, though it has its name
}

// Begin starts a batch.
func (s *Store) Begin() *Batch {
	return &Batch{
		s: s, prepare: sync.OnceValue(s.prepare),
		slots: make(chan struct{}, flushes),
		added: map[name]pending{}, whole: map[name]bool{}, dirs: map[string]bool{}, temps: map[string]bool{},
	}
}

// prepare makes the directory. That it is there does not mean that its name is
// durable: who made it may not have come to that.
func (s *Store) prepare() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := filepath.Dir(s.dir)
	_, err := s.fs.Lstat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.anchored = false
		if err = store.MkdirAll(s.fs, parent); err == nil {
			err = s.fs.Mkdir(s.dir, store.DirPerm)
		}
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = store.MkdirAll(s.fs, s.dir) // which is there, and may be no directory
	}
	if err != nil || s.anchored {
		return err
	}
	if err := s.fs.SyncDir(parent); err != nil {
		return fmt.Errorf("sync %s: %w", parent, err)
	}
	s.anchored = true
	return nil
}

// Put adds bytes. They are an object when Commit has returned.
func (b *Batch) Put(ctx context.Context, data []byte) (Ref, error) {
	if err := b.ready(ctx); err != nil {
		return Ref{}, fmt.Errorf("put an object: %w", err)
	}
	ref, err := b.put(ctx, data)
	if err != nil {
		return Ref{}, fmt.Errorf("put an object: %w", err)
	}
	return ref, nil
}

// put knows the name before it writes, so that nothing is written twice.
func (b *Batch) put(ctx context.Context, data []byte) (Ref, error) {
	sum := sha256.Sum256(data)
	n := nameOf(sum[:])
	ref := Ref{Digest: n.digest(), Size: int64(len(data))}
	wrong, there, err := b.holds(ctx, n, ref.Size)
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
		return Ref{}, errors.Join(err, b.drop(f, temp))
	}
	p := pending{ref: ref, temp: temp, path: b.s.path(n, compressed), wrong: wrong}
	return ref, b.add(ctx, n, p, f)
}

// Copy adds what a reader gives, hashing while it copies, in bounded memory.
func (b *Batch) Copy(ctx context.Context, r io.Reader) (Ref, error) {
	if err := b.ready(ctx); err != nil {
		return Ref{}, fmt.Errorf("copy an object: %w", err)
	}
	first := b.s.buffer()
	ended, err := first.fill(r)
	var ref Ref
	switch {
	case err != nil:
		b.s.buffers.Put(first)
	case ended:
		ref, err = b.put(ctx, first.bytes())
		b.s.buffers.Put(first)
	default:
		ref, err = b.stream(ctx, first, r)
	}
	if err != nil {
		return Ref{}, fmt.Errorf("copy an object: %w", err)
	}
	return ref, nil
}

// stream adds what begins with a full chunk, which becomes its own.
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
	sum, size, err := b.s.pumpInto(ctx, pusher, compressed, first, r)
	if failed := pusher.Wait(); failed != nil {
		b.fail(fmt.Errorf("store an object: %w", failed))
		err = failed
	}
	if err != nil {
		return Ref{}, errors.Join(err, b.drop(f, temp))
	}
	return b.finish(ctx, sum, size, f, temp, compressed)
}

// finish adds a temporary file that is whole, or drops it where there is such an
// object.
func (b *Batch) finish(ctx context.Context, sum []byte, size int64, f store.File, temp string, compressed bool) (Ref, error) {
	n := nameOf(sum)
	ref := Ref{Digest: n.digest(), Size: size}
	wrong, there, err := b.holds(ctx, n, size)
	if there || err != nil {
		return ref, errors.Join(err, b.drop(f, temp))
	}
	p := pending{ref: ref, temp: temp, path: b.s.path(n, compressed), wrong: wrong}
	return ref, b.add(ctx, n, p, f)
}

// pumpInto is pump into a file, through an encoder or not.
func (s *Store) pumpInto(ctx context.Context, f io.Writer, compressed bool, first *buffer, r io.Reader) ([]byte, int64, error) {
	if !compressed {
		return s.pump(ctx, f, first, r)
	}
	e, err := newEncoder(f, 1)
	if err != nil {
		return nil, 0, err
	}
	sum, size, err := s.pump(ctx, e, first, r)
	if closed := e.Close(); err == nil {
		err = closed
	}
	return sum, size, err
}

// ready makes the directory, and refuses what cannot be committed any more.
func (b *Batch) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.failed(); err != nil {
		return err
	}
	return b.prepare()
}

func (b *Batch) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// fail is the end of the batch, whose first error is the one that counts.
func (b *Batch) fail(err error) {
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

// drop closes and removes a temporary file that nobody wants.
func (b *Batch) drop(f store.File, temp string) error {
	err := f.Close()
	return errors.Join(err, b.remove(temp))
}

func (b *Batch) remove(temp string) error {
	if err := b.s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.temps, temp)
	return nil
}

// add has a file synced and closed beside the caller, once there is room for it.
func (b *Batch) add(ctx context.Context, n name, p pending, f store.File) error {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), b.drop(f, p.temp))
	}
	b.mu.Lock()
	_, twice := b.added[n]
	if !twice && b.err == nil {
		b.added[n] = p
		b.dirs[n.dir()] = true
	}
	err := b.err
	b.mu.Unlock()
	if twice || err != nil {
		<-b.slots
		return errors.Join(err, b.drop(f, p.temp))
	}
	b.syncs.Go(func() {
		defer func() { <-b.slots }()
		err := f.Sync()
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			b.fail(fmt.Errorf("store object %s: %w", p.ref.Digest, err))
		}
	})
	return nil
}
