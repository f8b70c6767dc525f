package workspace

import (
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
	t.Run("enter", func(t *testing.T) {
		passesOver(t, root, func(c *cursor, path string) error { _, err := c.enter(path); return err })
	})
	must(t, os.RemoveAll(filepath.Join(dir, "a", "gone")))
	t.Run("look", func(t *testing.T) {
		passesOver(t, root, func(c *cursor, path string) error { c.looks = true; _, err := c.look(path); return err })
	})
}

func passesOver(t *testing.T, root *os.Root, come func(c *cursor, path string) error) {
	t.Helper()
	dir := root.Name()
	c := cursor{base: root}
	defer c.close()
	enter := func(path string, there bool) {
		t.Helper()
		if err := come(&c, path); (err == nil) != there || !there && !errors.Is(err, fs.ErrNotExist) {
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
