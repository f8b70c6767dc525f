package store_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/storetest"
)

// eachPlace runs a test over every file system.
func eachPlace(t *testing.T, test func(t *testing.T, p storetest.Place)) {
	t.Helper()
	for name, fresh := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// makeTree makes a directory that holds a file, a link to it, and a directory with a file.
func makeTree(t *testing.T, fsys store.FS, dir string) {
	t.Helper()
	err := store.MkdirAll(fsys, filepath.Join(dir, "sub"))
	if err == nil {
		err = store.Write(fsys,
			store.Entry{Path: filepath.Join(dir, "file"), Data: [][]byte{[]byte("12345")}},
			store.Entry{Path: filepath.Join(dir, "link"), Target: "file"},
			store.Entry{Path: filepath.Join(dir, "sub", "inner"), Data: [][]byte{[]byte("1234567")}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exists(t *testing.T, fsys store.FS, path string) bool {
	t.Helper()
	there, err := store.Exists(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// TestFreePathIsNotTaken: the path is the wish if nothing is there, else the first with a
// number. A path below a file does not exist.
func TestFreePathIsNotTaken(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p storetest.Place) {
		wish := filepath.Join(p.Dir, "saved")
		for _, want := range []string{wish, wish + "-2", wish + "-3"} {
			got, err := store.FreePath(p.FS, wish)
			if err != nil || got != want {
				t.Fatalf("the free path is %s, %v, want %s", got, err, want)
			}
			if err := store.WriteFile(p.FS, got, nil); err != nil {
				t.Fatal(err)
			}
		}
		if exists(t, p.FS, filepath.Join(wish, "below")) {
			t.Error("a path below a file exists")
		}
	})
}

// TestRemoveAllTakesNothingElse: a directory goes with all that is in it. A link in it goes
// without the directory that it leads to, and what is missing is no error.
func TestRemoveAllTakesNothingElse(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p storetest.Place) {
		gone, kept := filepath.Join(p.Dir, "gone"), filepath.Join(p.Dir, "kept")
		makeTree(t, p.FS, gone)
		makeTree(t, p.FS, kept)
		if err := store.Write(p.FS, store.Entry{Path: filepath.Join(gone, "away"), Target: kept}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := store.RemoveAll(p.FS, gone); err != nil {
				t.Fatal(err)
			}
			if exists(t, p.FS, gone) {
				t.Fatal("the removed directory is still there")
			}
		}
		if !exists(t, p.FS, filepath.Join(kept, "sub", "inner")) {
			t.Error("the directory behind a removed link lost a file")
		}
		if err := store.RemoveEntries(p.FS, kept); err != nil {
			t.Fatal(err)
		}
		if left, err := p.FS.ReadDir(kept); err != nil || len(left) > 0 {
			t.Errorf("the emptied directory holds %v, %v", left, err)
		}
	})
}

// TestCopyTreeCopiesEverything: the copy has the directories, bytes and links of the
// original, nothing of what an earlier copy left at its path, and survives a power cut.
func TestCopyTreeCopiesEverything(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p storetest.Place) {
		from, to := filepath.Join(p.Dir, "from"), filepath.Join(p.Dir, "to")
		makeTree(t, p.FS, from)
		makeTree(t, p.FS, filepath.Join(to, "earlier"))
		if err := errors.Join(store.CopyTree(p.FS, from, to), p.FS.SyncDir(p.Dir), p.FS.SyncDir(filepath.Dir(p.Dir))); err != nil {
			t.Fatal(err)
		}
		after := p.FS
		if m, ok := p.FS.(*store.Memory); ok {
			after = m.Crash()
		}
		for name, want := range map[string]string{"file": "12345", "sub/inner": "1234567"} {
			if data, err := store.ReadFile(after, filepath.Join(to, name)); err != nil || string(data) != want {
				t.Errorf("the copy of %s holds %q, %v", name, data, err)
			}
		}
		if target, err := after.Readlink(filepath.Join(to, "link")); err != nil || target != "file" {
			t.Errorf("the copy of the link leads to %q, %v", target, err)
		}
		if exists(t, after, filepath.Join(to, "earlier")) {
			t.Error("the copy holds what was at its path before")
		}
	})
}

// TestSizesAreSums: a directory is as large as the files below it, the excepted name does
// not count, and a missing directory is empty.
func TestSizesAreSums(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p storetest.Place) {
		dir := filepath.Join(p.Dir, "tree")
		makeTree(t, p.FS, dir)
		if err := p.FS.Remove(filepath.Join(dir, "link")); err != nil { // its size differs between file systems
			t.Fatal(err)
		}
		if size, err := store.TreeSize(p.FS, dir); err != nil || size != 12 {
			t.Errorf("the tree has %d bytes, %v, want 12", size, err)
		}
		if size, err := store.TreeSize(p.FS, filepath.Join(p.Dir, "missing")); err != nil || size != 0 {
			t.Errorf("a missing directory has %d bytes, %v", size, err)
		}
		var names []string
		err := store.EachSize(p.FS, dir, "file", func(name string, size int64) {
			names = append(names, name)
			if size != 7 {
				t.Errorf("%s has %d bytes, want 7", name, size)
			}
		})
		if err != nil || !slices.Equal(names, []string{"sub"}) {
			t.Errorf("all but file are %q, %v, want sub", names, err)
		}
	})
}

// TestRemoveDurablySurvivesAPowerCut: a removed file does not come back, and to remove it
// again is no error.
func TestRemoveDurablySurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	m := store.NewMemory()
	if err := store.WriteFile(m, "/file", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := store.RemoveDurably(m, "/file"); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Crash().Lstat("/file"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the removed file is back: %v", err)
		}
	}
}
