//go:build unix

package tree

import (
	"errors"
	"fmt"
	"io/fs"
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

// TestRefusedByRoot: an error about a path may be a refusal to follow a link, unless it
// says that the file is absent or that access is denied.
func TestRefusedByRoot(t *testing.T) {
	t.Parallel()
	of := func(err error) error { return fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "a", Err: err}) }
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("path escapes from parent"), false},
		{of(errors.New("path escapes from parent")), true},
		{of(fs.ErrNotExist), false},
		{of(fs.ErrPermission), false},
	} {
		if got := RefusedByRoot(tt.err); got != tt.want {
			t.Errorf("%v: refused %t", tt.err, got)
		}
	}
}
