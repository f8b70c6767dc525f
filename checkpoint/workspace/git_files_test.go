//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/workspace/git"
)

// TestCaptureEmptiedDirs: a directory whose files, all known to git, were removed is
// captured as an empty directory, and restored.
func TestCaptureEmptiedDirs(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitRef, GitCommit} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w, dir := gitKeeper(t, "", mode)
			runGit(t, dir, "config", "user.name", "u")
			runGit(t, dir, "config", "user.email", "u@localhost")
			for _, name := range []string{"top", "some/f", "some/g", "deep/er/f", "pair/a/f", "pair/b/f", "gone/f", "ignored/f"} {
				put(t, dir, name, name)
			}
			runGit(t, dir, "add", "-A", ".")
			runGit(t, dir, "commit", "-q", "-m", "first")
			for _, name := range []string{"some/f", "deep/er", "pair/a/f", "pair/b/f", "gone", "ignored/f"} {
				must(t, os.RemoveAll(filepath.Join(dir, name)))
			}
			put(t, dir, "ignored/.gitignore", "*\n")
			must(t, os.Chmod(filepath.Join(dir, "pair", "a"), 0o750))
			first, l := captureSparse(t, w, nil, 1)
			if want := []string{"deep", "pair/a", "pair/b", "some/g", "top"}; !slices.Equal(paths(l.Entries), want) {
				t.Errorf("captured %q, want %q", paths(l.Entries), want)
			}
			again, _ := captureSparse(t, w, &first.Capture, 2)
			if again.Changed {
				t.Errorf("nothing changed: %+v", again)
			}
			for _, name := range []string{"deep", "pair"} {
				must(t, os.RemoveAll(filepath.Join(dir, name)))
			}
			_, err := restoreTo(t.Context(), w, first.Listing, "x")
			must(t, err)
			for name, want := range map[string]os.FileMode{"deep": 0o755, "pair/a": 0o750, "pair/b": 0o755} {
				if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
		})
	}
}

// TestEmptiedBySparse: a directory that a sparse checkout emptied does not count as
// empty.
func TestEmptiedBySparse(t *testing.T) {
	t.Parallel()
	w, dir := sparseRepository(t, "", GitRef, true)
	must(t, os.MkdirAll(filepath.Join(dir, "out", "deep"), 0o755))
	must(t, os.Remove(filepath.Join(dir, "in", "gone")))
	must(t, os.Remove(filepath.Join(dir, "in", "a")))
	_, l := captureSparse(t, w, nil, 1)
	if got := strings.Join(paths(l.Entries), " "); got != "in top" {
		t.Errorf("captured %q", got)
	}
}

// TestEmptiedWorkspace: the workspace itself is not listed as an empty directory.
func TestEmptiedWorkspace(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Dir: t.TempDir()})
	if found, err := w.gitLister().untracked(t.Context(), []git.File{{Path: "f"}}); err != nil || len(found.emptied) > 0 {
		t.Errorf("found %+v, %v", found, err)
	}
}
