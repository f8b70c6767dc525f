//go:build unix

package tree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestCursorReadsPresentFiles: a cursor follows no link, keeps an open directory even if
// it is renamed, and opens the present directory after it has left and returned.
func TestCursorReadsPresentFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "a/b/file", "")
	writeFile(t, dir, "other", "")
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	c := Cursor{base: root}
	defer c.Close()
	for path, want := range map[string]error{"link": ErrBehindLink, "link/b": ErrBehindLink, "other": syscall.ENOTDIR, "a/b/file": syscall.ENOTDIR} {
		if _, err := c.Enter(path); !errors.Is(err, want) || !IsAbsent(err) {
			t.Errorf("enter %s: %v", path, err)
		}
	}
	for _, path := range []string{"..", "../" + filepath.Base(dir) + "/other", "a/../other", "a/.."} {
		if is, err := c.Place(path).Status(); err == nil || IsAbsent(err) {
			t.Errorf("status of %s: %v, %v", path, is, err)
		}
	}
	if target, err := c.Place("link").Readlink(); err != nil || target != "a" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	list := func(path string, want ...string) {
		t.Helper()
		h, err := c.Enter(path)
		must(t, err)
		for range 2 {
			entries, err := readDir(h, ".")
			must(t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name)
			}
			slices.Sort(names)
			if !slices.Equal(names, want) {
				t.Errorf("in %q are %q, want %q", path, names, want)
			}
		}
	}
	list("a/b", "file")
	list("", "a", "link", "other")
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")))
	writeFile(t, dir, "a/b/another", "")
	list("a/b", "another")
	_, err = c.Enter("a/b") // from here on the cursor stays in this directory, whatever has the name
	must(t, err)
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved again")))
	writeFile(t, dir, "a/b/third", "")
	list("a/b", "another")
	list("", "a", "link", "moved", "moved again", "other")
	list("a/b", "third")
}
