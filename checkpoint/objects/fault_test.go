package objects_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

var errDisk = errors.New("input/output error")

// faulty is a file system that fails from its nth operation on, or only at that
// operation.
type faulty struct {
	store.FS
	at      int
	forever bool
	before  func() // called before each operation

	mu   sync.Mutex
	ops  int
	hits []string
}

func (f *faulty) step(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before()
	}
	f.ops++
	if f.at == 0 || f.ops < f.at || f.ops > f.at && !f.forever {
		return nil
	}
	f.hits = append(f.hits, op)
	return errDisk
}

func (f *faulty) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	reads := flag&(os.O_WRONLY|os.O_RDWR) == 0
	op := "open"
	if reads {
		op = "read"
	}
	if err := f.step(op); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, reads: reads}, nil
}

func (f *faulty) Mkdir(name string, perm fs.FileMode) error {
	if err := f.step("mkdir"); err != nil {
		return err
	}
	return f.FS.Mkdir(name, perm)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.step("rename"); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *faulty) Remove(name string) error {
	if err := f.step("remove"); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faulty) SyncDir(name string) error {
	if err := f.step("syncdir"); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f *faulty) Lstat(name string) (fs.FileInfo, error) {
	if err := f.step("lstat"); err != nil {
		return nil, err
	}
	return f.FS.Lstat(name)
}

type faultyFile struct {
	store.File
	fs    *faulty
	reads bool
}

func (f *faultyFile) Read(p []byte) (int, error) {
	if err := f.fs.step("read"); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.step("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2]) // a full disk writes only a part
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.step("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	op := "close"
	if f.reads {
		op = "read"
	}
	return errors.Join(f.fs.step(op), f.File.Close())
}

// honest fails the test if a file has the name of an object but not its bytes.
func honest(t *testing.T, when string, fsys store.FS, dir string) {
	t.Helper()
	s := objects.New(fsys, dir, objects.Options{})
	for o, err := range s.All(t.Context()) {
		if err == nil {
			err = s.Verify(t.Context(), o.Digest)
		}
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
}

// attempt adds three new objects, one of them several times, and an object that is stored
// already. attempt returns those that are durable.
func attempt(t *testing.T, s *objects.Store) (kept [][]byte, failed bool) {
	b := s.Begin()
	var added [][]byte
	long := append(words(1<<18), noise(100)...)
	for i, data := range [][]byte{noise(5000), []byte("already there"), words(9000), long, long} {
		var err error
		if i%2 == 0 {
			_, err = b.Put(t.Context(), data)
		} else {
			_, err = b.Copy(t.Context(), bytes.NewReader(data))
		}
		if err != nil {
			failed = true
			continue
		}
		added = append(added, data)
	}
	_, err := b.Copy(t.Context(), bytes.NewReader(long))
	failed = failed || err != nil
	err = b.Commit(t.Context())
	if abandoned := b.Abandon(); err != nil || abandoned != nil {
		return nil, true
	}
	return added, failed
}

// TestFaults fails each operation, once and from then on, and cuts the power before each:
// a name never has other bytes, and acknowledged objects are durable.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, forever := range []bool{false, true} {
		for _, compress := range []bool{false, true} {
			t.Run(fmt.Sprintf("forever %t, compress %t", forever, compress), func(t *testing.T) {
				t.Parallel()
				for at := 1; testFault(t, at, forever, objects.Options{Compress: compress}); at++ {
				}
			})
		}
	}
}

func testFault(t *testing.T, at int, forever bool, o objects.Options) (hit bool) {
	const dir = "/state/objects"
	m := store.NewMemory()
	b := objects.New(m, dir, o).Begin()
	_, err := b.Put(t.Context(), []byte("already there"))
	must(t, err)
	must(t, b.Commit(t.Context()))

	f := &faulty{FS: m, at: at, forever: forever}
	f.before = func() {
		if forever || at == 1 { // checking once is enough: all runs are the same before the failure
			honest(t, "power cut", m.Crash(), dir)
		}
	}
	kept, failed := attempt(t, objects.New(f, dir, o))
	when := fmt.Sprintf("operation %d: %q", at, f.hits)
	honest(t, when, m, dir)
	after := newPlace(m.Crash(), dir, o)
	honest(t, when, after.fs, dir)
	for _, data := range kept {
		if err := after.Verify(t.Context(), digestOf(data)); err != nil {
			t.Errorf("%s: acknowledged: %v", when, err)
		}
	}
	if len(f.hits) == 0 {
		if failed || len(kept) != 5 {
			t.Errorf("without a fault: %d kept, failed %t", len(kept), failed)
		}
		return false
	}
	// A stored object that cannot be read is written again.
	if !failed && !slices.Contains([]string{"remove", "lstat", "read"}, f.hits[0]) {
		t.Errorf("%s: no error", when)
	}
	for _, file := range newPlace(m, dir, o).files(t) {
		if store.IsTemp(filepath.Base(file)) && !forever {
			t.Errorf("%s: left %s", when, file)
		}
	}
	return true
}

// TestFailedSync: after a failed sync no object of the batch is stored, and the batch
// accepts no more.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	p := newPlace(syncless{store.NewMemory()}, "/objects", objects.Options{})
	b := p.Begin()
	_, err := b.Put(t.Context(), []byte("one"))
	must(t, err)
	for range 2 {
		if err := b.Commit(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("commit: %v", err)
		}
	}
	if _, err := b.Put(t.Context(), []byte("two")); !errors.Is(err, errDisk) {
		t.Errorf("put after a failed sync: %v", err)
	}
	must(t, b.Abandon())
	long := p.Begin()
	if _, err := long.Copy(t.Context(), io.LimitReader(zeros{}, 100<<20)); !errors.Is(err, errDisk) {
		t.Errorf("copy what is synced while it is written: %v", err)
	}
	if _, err := long.Put(t.Context(), []byte("three")); !errors.Is(err, errDisk) {
		t.Errorf("put after that: %v", err)
	}
	must(t, long.Abandon())
	if left := p.files(t); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// syncless is a file system that cannot sync a file.
type syncless struct{ store.FS }

func (s syncless) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	return synclessFile{f}, err
}

type synclessFile struct{ store.File }

func (synclessFile) Sync() error { return errDisk }
