package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prdrunner/checkpoint/store"
)

// packing is a file system on which git packs the loose objects of a directory and
// removes the directory, just before the directory is read or synced.
type packing struct {
	store.FS
	dir          string
	read, synced bool
}

func (p packing) ReadDir(name string) ([]fs.DirEntry, error) {
	if p.read && name == p.dir {
		if err := os.RemoveAll(name); err != nil {
			return nil, err
		}
	}
	return p.FS.ReadDir(name)
}

func (p packing) SyncDir(name string) error {
	if p.synced && name == p.dir {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return p.FS.SyncDir(name)
}

// TestSyncWhileGitPacks: a directory of loose objects disappears while its files are
// synced, because git has packed them. That is no failure.
func TestSyncWhileGitPacks(t *testing.T) {
	t.Parallel()
	for _, when := range []packing{{read: true}, {synced: true}} {
		git := t.TempDir()
		when.FS, when.dir = store.OS(), filepath.Join(git, "objects", "d2")
		noError(t, os.MkdirAll(when.dir, 0o755))
		noError(t, os.WriteFile(filepath.Join(when.dir, "loose"), []byte("object"), 0o444))
		g := &Repository{fs: when, commonDir: git}
		if err := (syncer{g}).syncRef("refs/heads/main", time.Now()); err != nil {
			t.Errorf("read %t, synced %t: %v", when.read, when.synced, err)
		}
		if _, err := os.Lstat(when.dir); err == nil {
			t.Errorf("read %t, synced %t: the directory was neither read nor synced", when.read, when.synced)
		}
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
