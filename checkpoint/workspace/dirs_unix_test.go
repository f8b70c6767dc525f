//go:build unix

package workspace

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
	putFile(t, dir, "a/b/file", "")
	putFile(t, dir, "other", "")
	noErr(t, os.Symlink("a", filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	noErr(t, err)
	defer func() { noErr(t, root.Close()) }()
	c := cursor{base: root}
	defer c.close()
	for path, want := range map[string]error{"link": errDetour, "link/b": errDetour, "other": syscall.ENOTDIR, "a/b/file": syscall.ENOTDIR} {
		if _, err := c.enter(path); !errors.Is(err, want) || !IsAbsent(err) {
			t.Errorf("look into %s: %v", path, err)
		}
	}
	for _, path := range []string{"..", "../" + filepath.Base(dir) + "/other", "a/../other", "a/.."} {
		if is, err := c.place(path).status(); err == nil || IsAbsent(err) {
			t.Errorf("look at %s: %v, %v", path, is, err)
		}
	}
	if target, err := c.place("link").readlink(); err != nil || target != "a" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	list := func(path string, want ...string) {
		t.Helper()
		h, err := c.enter(path)
		noErr(t, err)
		for range 2 {
			entries, err := readDir(h, ".")
			noErr(t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.name)
			}
			slices.Sort(names)
			if !slices.Equal(names, want) {
				t.Errorf("in %q are %q, want %q", path, names, want)
			}
		}
	}
	list("a/b", "file")
	list("", "a", "link", "other")
	noErr(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")))
	putFile(t, dir, "a/b/another", "")
	list("a/b", "another")
	_, err = c.enter("a/b") // looks into that from now on, whatever has the name
	noErr(t, err)
	noErr(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved again")))
	putFile(t, dir, "a/b/third", "")
	list("a/b", "another")
	list("", "a", "link", "moved", "moved again", "other")
	list("a/b", "third")
}
