package store_test

import (
	"slices"
	"testing"

	"prdrunner/checkpoint/store"
)

// syncCounter notes which directories are synced.
type syncCounter struct {
	store.FS
	synced []string
}

func (c *syncCounter) SyncDir(name string) error {
	c.synced = append(c.synced, name)
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
	must(store.Write(c, store.Name{Path: "/a/b/f", Data: [][]byte{[]byte("1")}}, store.Name{Path: "/a/b/l", Target: "f"}, store.Name{Path: "/a/c/g"}))
	expect("writing files", "/a/b", "/a/c")
	must(store.WriteFile(c, "/a/file", nil))
	c.synced = nil
	if err := store.MkdirAll(c, "/a/h/i", "/a/file"); err == nil {
		t.Error("a directory was made where a file is")
	}
	expect("making some of them", "/a", "/a/h") // whoever tries again finds them made
}
