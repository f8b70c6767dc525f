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

// TestCursorLooks: what a cursor looks at is what is there now, behind no link, and in
// the directory that it opened where it opened one.
func TestCursorLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a/b/file", "")
	put(t, dir, "other", "")
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	c := Cursor{base: root}
	defer c.Close()
	for path, want := range map[string]error{"link": ErrDetour, "link/b": ErrDetour, "other": syscall.ENOTDIR, "a/b/file": syscall.ENOTDIR} {
		if _, err := c.Enter(path); !errors.Is(err, want) || !IsAbsent(err) {
			t.Errorf("look into %s: %v", path, err)
		}
	}
	for _, path := range []string{"..", "../" + filepath.Base(dir) + "/other", "a/../other", "a/.."} {
		if is, err := c.Place(path).Status(); err == nil || IsAbsent(err) {
			t.Errorf("look at %s: %v, %v", path, is, err)
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
	put(t, dir, "a/b/another", "")
	list("a/b", "another")
	_, err = c.Enter("a/b") // looks into that from now on, whatever has the name
	must(t, err)
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved again")))
	put(t, dir, "a/b/third", "")
	list("a/b", "another")
	list("", "a", "link", "moved", "moved again", "other")
	list("a/b", "third")
}
