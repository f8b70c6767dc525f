package store_test

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"prdrunner/checkpoint/store"
)

// syncCounter notes which directories are synced.
type syncCounter struct {
	store.FS
	mu     sync.Mutex
	synced []string
}

func (c *syncCounter) SyncDir(name string) error {
	c.mu.Lock()
	c.synced = append(c.synced, name)
	c.mu.Unlock()
	return c.FS.SyncDir(name)
}

// TestDirectoriesAreSyncedOnce: each directory is synced once for all that comes
// into it together, and not at all where nothing does.
func TestDirectoriesAreSyncedOnce(t *testing.T) {
	t.Parallel()
	c := &syncCounter{FS: store.NewMemory()}
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(c.synced, want) {
			t.Errorf("%s synced %q, want %q", what, c.synced, want)
		}
		c.synced = nil
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(store.MkdirAll(c, "/a/b", "/a/c", "/a/b/d"))
	expect("making directories", "/", "/a", "/a/b")
	must(store.MkdirAll(c, "/a/b", "/a/e"))
	expect("making one more", "/a")
	must(store.MkdirAll(c, "/a/b", "/a/c"))
	expect("making none")
	must(store.Write(c, store.Entry{Path: "/a/b/f", Data: [][]byte{[]byte("1")}}, store.Entry{Path: "/a/b/l", Target: "f"}, store.Entry{Path: "/a/c/g"}))
	slices.Sort(c.synced) // one beside the other
	expect("writing files", "/a/b", "/a/c")
	must(store.WriteFile(c, "/a/file", nil))
	c.synced = nil
	if err := store.MkdirAll(c, "/a/h/i", "/a/file"); err == nil {
		t.Error("a directory was made where a file is")
	}
	expect("making some of them", "/a", "/a/h") // whoever tries again finds them made
}

// TestWriteAllOrNone: where the content of one file can't be made durable, none gets its
// name, the error names that one, and nothing is left of the others.
func TestWriteAllOrNone(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	if err := store.MkdirAll(m, "/a"); err != nil {
		t.Fatal(err)
	}
	var failed *store.WriteError
	err := store.Write(m, store.Entry{Path: "/a/f", Data: [][]byte{[]byte("1")}}, store.Entry{Path: "/a/l", Target: "f"}, store.Entry{Path: "/gone/g"})
	if !errors.As(err, &failed) || failed.Path != "/gone/g" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if left, err := m.ReadDir("/a"); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
