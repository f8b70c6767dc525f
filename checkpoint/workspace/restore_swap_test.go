//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRestoreLooksIntoWhatItReads swaps the directory of a file with another directory
// between the stat of the file and its reading. An edit of the file does not pass for the
// expected content.
func TestRestoreLooksIntoWhatItReads(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "a/e", "")
	put(t, dir, "a/f", "EDITED!!")
	put(t, dir, "b/f", "as known")
	known, err := w.Describe(t.Context(), "b/f")
	must(t, err)
	r := &restore{w: w}
	c := w.tree.Cursor()
	defer c.Close()
	_, err = c.Place("a/e").Status()
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
		t.Error("the edited file passes for the known one")
	}
}
