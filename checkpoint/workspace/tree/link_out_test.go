//go:build unix

package tree

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLstatBehindALinkOut: a file behind a link that leads out of the tree counts as
// absent, although it exists.
func TestLstatBehindALinkOut(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	writeFile(t, outside, "file", "x")
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	tree := openTree(t, dir)
	if _, err := tree.Lstat("out/file"); !IsAbsent(err) {
		t.Errorf("got %v", err)
	}
	if link, text := tree.LinkOut("out/file"); link != "out" || text != outside {
		t.Errorf("the link is %q to %q", link, text)
	}
}
