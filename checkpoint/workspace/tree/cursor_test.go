package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCursorPassesOverWhatIsGone: below a directory that was not there nothing is
// looked for again, beside it everything is.
func TestCursorPassesOverWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "there"), 0o777))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	passesOver(t, root)
}

func passesOver(t *testing.T, root *os.Root) {
	t.Helper()
	dir := root.Name()
	c := Cursor{base: root}
	defer c.Close()
	enter := func(path string, there bool) {
		t.Helper()
		if _, err := c.Enter(path); (err == nil) != there || !there && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("come to %q: %v", path, err)
		}
	}
	enter("a/gone/below", false)
	must(t, os.MkdirAll(filepath.Join(dir, "a", "gone", "below"), 0o777)) // as long as the pass goes on, it was not there
	for _, path := range []string{"a/gone/below", "a/gone", "a/gone/other"} {
		enter(path, false)
	}
	for _, path := range []string{"a", "a/there", ""} {
		enter(path, true)
	}
	enter("a/goner", false)
	enter("a/gone/below", true) // of those that were not there, only the last is known
}

// TestCursorsStayOpen: the cursor of one level of a walk serves the next level, so that the
// cost of a walk grows with the depth of the tree, and not with its square.
func TestCursorsStayOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a/b/f", "f")
	tree := plant(t, dir)
	all := cursors{base: tree.root}
	defer all.close()
	for _, level := range []struct{ reached, dir string }{{"", "a"}, {"a", "a/b"}} {
		must(t, all.each(t.Context(), 1, 1, func(_ context.Context, c *Cursor, _ int) error {
			if c.reached() != level.reached {
				t.Errorf("before %q, the cursor is at %q, not at %q", level.dir, c.reached(), level.reached)
			}
			_, err := c.Enter(level.dir)
			return err
		}))
	}
	if len(all.free) != 1 {
		t.Errorf("%d cursors for one chunk at a time", len(all.free))
	}
}
