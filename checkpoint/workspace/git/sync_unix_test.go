//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"prdrunner/checkpoint/store"
)

// failsOnce is a file system on which the first sync of a file fails.
type failsOnce struct {
	store.FS
	failed bool
}

func (f *failsOnce) OpenFile(name string, flag int, perm os.FileMode) (store.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil || f.failed {
		return file, err
	}
	f.failed = true
	return unsynced{file}, nil
}

type unsynced struct{ store.File }

func (unsynced) Sync() error { return syscall.EIO }

// TestObjectWhoseSyncFailedIsWrittenAnew: after a failed sync, the second sync of a file
// may succeed although the file is not on the disk. So Runner replaces the object by a
// new file.
func TestObjectWhoseSyncFailedIsWrittenAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "00f98e1116b5e1f3be6bd7f16f0a5965ebca47")
	if err := os.WriteFile(name, []byte("object"), 0o444); err != nil {
		t.Fatal(err)
	}
	was, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	g := &Repository{fs: &failsOnce{FS: store.OS()}}
	if err := (syncer{g}).syncObject(name, was.Mode().Perm()); !errors.Is(err, syscall.EIO) {
		t.Errorf("the failure is reported as %v", err)
	}
	is, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil || string(data) != "object" || is.Mode() != was.Mode() || os.SameFile(was, is) {
		t.Errorf("%q, %v, %v, the same file: %v", data, err, is.Mode(), os.SameFile(was, is))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want nothing but the object", entries, err)
	}
}
