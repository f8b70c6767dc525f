//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDescribeBehindLinks: files behind links are found, even if the links are absolute.
func TestDescribeBehindLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "b/1/x", "x")
	must(t, os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "whole")))
	must(t, os.Symlink("whole/1", filepath.Join(dir, "l")))
	w := open(t, Options{Dir: dir})
	if got := describe(t, w, "l/x"); got.Path != "l/x" || got.Digest != shaOf("x") {
		t.Errorf("%+v", got)
	}
	if real, target := w.tree.RealPath("l/x"), w.tree.Target("l"); real != "b/1/x" || target != "b/1" {
		t.Errorf("%s, %s", real, target)
	}
}

// TestHiddenNameBehindLink: a name that may not be recorded is not in the patterns of a
// capture, either, if a link leads to it.
func TestHiddenNameBehindLink(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	w = refusing(w)
	put(t, dir, "in/a", "a")
	put(t, dir, refusedWord+"/b", "b")
	must(t, os.Symlink("../"+refusedWord, filepath.Join(dir, "in", "l")))
	captured, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"in/**"}})
	must(t, err)
	l, err := w.Load(t.Context(), captured.Listing)
	must(t, err)
	if text := strings.Join(append(l.Patterns, paths(l.Entries)...), " "); strings.Contains(text, refusedWord) {
		t.Errorf("the listing has the name: %s", text)
	}
}
