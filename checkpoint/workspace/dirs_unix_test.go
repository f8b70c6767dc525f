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
	put(t, dir, "a/b/file", "")
	put(t, dir, "other", "")
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	c := cursor{base: root}
	defer c.close()
	for path, want := range map[string]error{"link": errDetour, "link/b": errDetour, "other": syscall.ENOTDIR, "a/b/file": syscall.ENOTDIR} {
		if _, err := c.enter(path); !errors.Is(err, want) || !absent(err) {
			t.Errorf("look into %s: %v", path, err)
		}
	}
	for _, path := range []string{"..", "../" + filepath.Base(dir) + "/other", "a/../other", "a/.."} {
		if is, err := c.place(path).status(); err == nil || absent(err) {
			t.Errorf("look at %s: %v, %v", path, is, err)
		}
	}
	if target, err := c.place("link").readlink(); err != nil || target != "a" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	list := func(path string, want ...string) {
		t.Helper()
		h, err := c.enter(path)
		must(t, err)
		for range 2 {
			entries, err := readDir(h, ".")
			must(t, err)
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
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")))
	put(t, dir, "a/b/another", "")
	list("a/b", "another")
	_, err = c.enter("a/b") // looks into that from now on, whatever has the name
	must(t, err)
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved again")))
	put(t, dir, "a/b/third", "")
	list("a/b", "another")
	list("", "a", "link", "moved", "moved again", "other")
	list("a/b", "third")
}

// TestRestoreLooksIntoWhatItReads: a directory that takes another one's place between
// a look at a file and its reading, and gives it back, does not have an edit pass for
// what a rollback knows.
func TestRestoreLooksIntoWhatItReads(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "a/e", "")
	put(t, dir, "a/f", "EDITED!!")
	put(t, dir, "b/f", "as known")
	known, err := w.Describe(t.Context(), "b/f")
	must(t, err)
	r := &restore{w: w}
	c := &cursor{base: w.root}
	defer c.close()
	_, err = c.place("a/e").status()
	must(t, err)
	swap := func() {
		must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")))
		must(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")))
		must(t, os.Rename(filepath.Join(dir, "z"), filepath.Join(dir, "b")))
	}
	swap()
	e, err := r.current(t.Context(), c, &item{Change: Change{Path: "a/f", From: &known}})
	swap()
	if err == nil && e.Digest == known.Digest {
		t.Error("the edited file passes for what was known")
	}
}
