package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCursorRemembersMissingDirectory: a cursor does not look again for a missing
// directory or anything below it, but for everything else.
func TestCursorRemembersMissingDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "there"), 0o777))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	checkRemembersMissing(t, root)
}

func checkRemembersMissing(t *testing.T, root *os.Root) {
	t.Helper()
	dir := root.Name()
	c := Cursor{base: root}
	defer c.Close()
	enter := func(path string, there bool) {
		t.Helper()
		if _, err := c.Enter(path); (err == nil) != there || !there && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("enter %q: %v", path, err)
		}
	}
	enter("a/gone/below", false)
	must(t, os.MkdirAll(filepath.Join(dir, "a", "gone", "below"), 0o777)) // the cursor remembers that it was missing
	for _, path := range []string{"a/gone/below", "a/gone", "a/gone/other"} {
		enter(path, false)
	}
	for _, path := range []string{"a", "a/there", ""} {
		enter(path, true)
	}
	enter("a/goner", false)
	enter("a/gone/below", true) // the cursor remembers only the last missing directory
}

// TestCursorsStayOpen: the cursor of one level of a walk serves the next level, so that the
// cost of a walk grows with the depth of the tree, and not with its square.
func TestCursorsStayOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "a/b/f", "f")
	tree := openTree(t, dir)
	all := cursors{base: tree.root}
	defer all.close()
	for _, level := range []struct{ reached, dir string }{{"", "a"}, {"a", "a/b"}} {
		must(t, all.forEach(t.Context(), 1, 1, func(_ context.Context, c *Cursor, _ int) error {
			if c.currentPath() != level.reached {
				t.Errorf("before %q, the cursor is at %q, not at %q", level.dir, c.currentPath(), level.reached)
			}
			_, err := c.Enter(level.dir)
			return err
		}))
	}
	if len(all.idle) != 1 {
		t.Errorf("%d cursors for one chunk at a time", len(all.idle))
	}
}
