//go:build unix

package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCaptureLeavesOutNames captures files, and an empty directory, whose names hold a
// sensitive value: the name is in no written file, unless git's index had it already, and
// a rollback does not touch these files.
func TestCaptureLeavesOutNames(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitOff, GitRef, GitCommit} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w, dir := namesKeeper(t, mode)
			o := CaptureOptions{Patterns: []string{"**"}, Ref: "refs/runner/names", Message: "captured"}
			put(t, dir, "in/a", "nothing")
			put(t, dir, "in/token-"+refusedWord+".txt", "nothing")
			put(t, dir, refusedWord+"/b", "nothing")
			must(t, os.Mkdir(filepath.Join(dir, "empty-"+refusedWord), 0o700))
			captured, err := w.Capture(t.Context(), o)
			must(t, err)
			for _, want := range []string{"in/***", "***/b"} {
				if !slices.Contains(captured.LeftOut, want) {
					t.Errorf("left out %q, not %s", captured.LeftOut, want)
				}
			}
			l, err := w.Load(t.Context(), captured.Listing)
			must(t, err)
			for _, e := range l.Entries {
				if strings.Contains(e.Path, refusedWord) && e.Path != "tracked-"+refusedWord {
					t.Errorf("the listing has %s", e.Path)
				}
			}
			now, err := w.Now(t.Context(), o.Patterns)
			must(t, err)
			if changes := Diff(now, l); len(changes) != 0 {
				t.Errorf("a rollback would make the changes %+v", changes)
			}
			if _, _, err := w.Keep(t.Context(), []string{"in/token-" + refusedWord + ".txt"}); err != nil {
				t.Fatal(err)
			}
			must(t, w.SaveCache())
			data, err := os.ReadFile(filepath.Join(dir, ".state", "cache")) // there is no cache file if all files are too new for the cache
			if err != nil && !os.IsNotExist(err) || bytes.Contains(bytes.ReplaceAll(data, []byte("tracked-"+refusedWord), nil), []byte(refusedWord)) {
				t.Errorf("the cache has a name: %v", err)
			}
			if mode != GitOff {
				tree := runGit(t, dir, "ls-tree", "-r", "--name-only", captured.Commit)
				if strings.Count(tree, refusedWord) != 1 || !strings.Contains(tree, "in/a") {
					t.Errorf("the commit has\n%s", tree)
				}
			}
		})
	}
}

// TestModifiedLeavesOutNames: the list of files that differ from HEAD has no file whose
// name holds a sensitive value, even if git tracks it.
func TestModifiedLeavesOutNames(t *testing.T) {
	t.Parallel()
	w, dir := namesKeeper(t, GitRef)
	put(t, dir, "tracked-"+refusedWord, "changed")
	put(t, dir, "new-"+refusedWord, "new")
	put(t, dir, "shown", "new")
	files, err := w.Modified(t.Context(), nil)
	must(t, err)
	if len(files) != 1 || files[0].Path != "shown" {
		t.Errorf("%+v", files)
	}
}

// namesKeeper opens a workspace. If it uses git, git tracks a file whose name holds the
// value.
func namesKeeper(t *testing.T, mode GitMode) (w *Workspace, dir string) {
	t.Helper()
	if mode == GitOff {
		w, dir = keeper(t)
		must(t, os.Mkdir(filepath.Join(dir, ".state"), 0o700))
	} else {
		w, dir = gitKeeper(t, "", mode)
		runGit(t, dir, "config", "user.name", "u")
		runGit(t, dir, "config", "user.email", "u@localhost")
		put(t, dir, "tracked-"+refusedWord, "nothing")
		runGit(t, dir, "add", "-A", ".")
		runGit(t, dir, "commit", "-q", "-m", "first")
	}
	return refusing(w), dir
}
