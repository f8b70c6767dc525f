package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/store"
)

// closedFS is a file system with an unreadable part.
type closedFS struct {
	store.FS
	part string
}

func (c closedFS) closed(name string) error {
	if c.part != "" && strings.Contains(filepath.ToSlash(name), c.part) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return nil
}

func (c closedFS) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if err := c.closed(name); err != nil {
		return nil, err
	}
	return c.FS.OpenFile(name, flag, perm)
}

func (c closedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := c.closed(name + "/"); err != nil {
		return nil, err
	}
	return c.FS.ReadDir(name)
}

// TestForbiddenIsNotMissing: git reports objects that the user may not read as missing.
// CheckReadable returns a permission error for them.
func TestForbiddenIsNotMissing(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), strings.Repeat("ab", 20)
	noError(t, os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o755))
	for _, file := range []string{"pack-1.idx", "pack-1.pack", "tmp_pack_x"} {
		noError(t, os.WriteFile(filepath.Join(dir, "objects", "pack", file), nil, 0o444))
	}
	for part, forbidden := range map[string]bool{
		"": false, "objects/pack/": true, "pack-1.idx": true, "pack-1.pack": true, "tmp_pack_x": false, "objects/ab/": true, "objects/cd/": false,
	} {
		g := &Repository{fs: closedFS{store.OS(), part}, commonDir: dir}
		if err := g.CheckReadable(name); errors.Is(err, fs.ErrPermission) != forbidden {
			t.Errorf("%q: %v", part, err)
		}
		if err := g.CheckReadable(); err != nil {
			t.Errorf("%q, nothing missing: %v", part, err)
		}
	}
}
