//go:build unix

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// sparseRepository opens a workspace with a sparse checkout, which omits the files in
// "out", and with the user's own files in "in".
func sparseRepository(t *testing.T, sub string, mode GitMode, cone bool) (w *Workspace, dir string) {
	t.Helper()
	w, dir = gitKeeper(t, sub, mode)
	runGit(t, dir, "config", "user.name", "u")
	runGit(t, dir, "config", "user.email", "u@localhost")
	for _, name := range []string{"top", "in/a", "in/gone", "out/b", "out/run", "out/deep/c"} {
		put(t, dir, name, name)
	}
	must(t, os.Chmod(filepath.Join(dir, "out", "run"), 0o755))
	must(t, os.Symlink("b", filepath.Join(dir, "out", "link")))
	runGit(t, dir, "add", "-A", ".")
	runGit(t, dir, "commit", "-q", "-m", "first")
	prefix := ""
	if sub != "" {
		prefix = sub + "/"
	}
	if cone {
		runGit(t, dir, "sparse-checkout", "set", "--cone", "in")
	} else {
		top := strings.TrimSuffix(runGit(t, dir, "rev-parse", "--show-toplevel"), "\n")
		runGit(t, top, "sparse-checkout", "set", "--no-cone", "/*", "!/"+prefix+"out/")
	}
	if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil {
		t.Fatal("the checkout is not sparse")
	}
	return w, dir
}

func captureSparse(t *testing.T, w *Workspace, last *Capture, n int) (Captured, *Listing) {
	t.Helper()
	c, err := w.Capture(t.Context(), CaptureOptions{Message: "m", When: time.Unix(1e9, 0), Ref: fmt.Sprintf("refs/runner/test/%d", n), Last: last})
	must(t, err)
	l, err := open(t, w.o).Load(t.Context(), c.Listing)
	must(t, err)
	return c, l
}

var outside = []string{"out/b", "out/deep/c", "out/link", "out/run"}

// TestCaptureSparse captures a sparse checkout. Files that are not checked out are in the
// commit, in no change, and a restore does not touch them.
func TestCaptureSparse(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitRef, GitCommit} {
		for _, cone := range []bool{true, false} {
			for _, sub := range []string{"", "sub/dir"} {
				if cone && sub != "" {
					continue // a cone refers to the top level
				}
				t.Run(fmt.Sprintf("%s, cone %v, in %q", mode, cone, sub), func(t *testing.T) {
					t.Parallel()
					testCaptureSparse(t, mode, cone, sub)
				})
			}
		}
	}
}

func testCaptureSparse(t *testing.T, mode GitMode, cone bool, sub string) {
	w, dir := sparseRepository(t, sub, mode, cone)
	head := strings.TrimSpace(runGit(t, dir, "rev-parse", "HEAD"))
	must(t, os.Remove(filepath.Join(dir, "in", "gone")))
	put(t, dir, "in/new", "new")
	put(t, dir, "in/a", "edited")
	first, l := captureSparse(t, w, nil, 1)
	if diff := cmp.Diff(outside, paths(l.Sparse)); diff != "" {
		t.Errorf("not checked out: %s", diff)
	}
	tree := runGit(t, dir, "ls-tree", "-r", first.Commit)
	was := runGit(t, dir, "ls-tree", "-r", head)
	for line := range strings.Lines(was) {
		if strings.Contains(line, "\tout/") && !strings.Contains(tree, line) {
			t.Errorf("the commit lacks %s", line)
		}
	}
	if strings.Contains(tree, "in/gone") || !strings.Contains(tree, "in/new") || strings.Contains(was, "in/new") {
		t.Errorf("the commit has\n%s", tree)
	}
	if status := runGit(t, dir, "status", "--porcelain"); mode == GitCommit && status != "" {
		t.Errorf("after a commit of everything there is\n%s", status)
	}
	again, _ := captureSparse(t, w, &first.Capture, 2)
	if again.Changed {
		t.Errorf("nothing changed: %+v", again)
	}

	// With everything checked out, nothing is deleted and nothing is new.
	runGit(t, dir, "sparse-checkout", "disable")
	second, full := captureSparse(t, w, &first.Capture, 3)
	if len(full.Sparse) != 0 || !second.Changed {
		t.Errorf("captured %+v", full.Sparse)
	}
	for _, ls := range [][2]*Listing{{l, full}, {full, l}} {
		if changes := Diff(ls[0], ls[1]); len(changes) != 0 {
			t.Errorf("changes: %+v", changes)
		}
	}
	if _, err := restoreTo(t.Context(), w, first.Listing, "x"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out", "b")); err != nil || string(data) != "out/b" {
		t.Errorf("after a restore to the sparse checkout, out/b is %q, %v", data, err)
	}
}

// TestRestoreSparse restores from a sparse checkout to a full one: only files that differ
// from git's are written.
func TestRestoreSparse(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitRef)
	for _, name := range []string{"top", "in/a", "out/b", "out/c"} {
		put(t, dir, name, name)
	}
	runGit(t, dir, "add", "-A", ".")
	runGit(t, dir, "commit", "-q", "-m", "first")
	put(t, dir, "out/c", "edited")
	first, _ := captureSparse(t, w, nil, 1)
	runGit(t, dir, "checkout", "out/c")
	runGit(t, dir, "sparse-checkout", "set", "--cone", "in")
	second, l := captureSparse(t, w, &first.Capture, 2)
	if want := []string{"out/b", "out/c"}; !slices.Equal(want, paths(l.Sparse)) {
		t.Errorf("not checked out: %+v", l.Sparse)
	}
	if _, err := restoreTo(t.Context(), w, first.Listing, "x"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out", "c")); err != nil || string(data) != "edited" {
		t.Errorf("the edited file is %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "out", "b")); err == nil {
		t.Error("a file that equals git's was written")
	}
	if _, err := restoreTo(t.Context(), w, second.Listing, "y"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "out", "c")); err != nil {
		t.Errorf("a file that was not checked out was deleted: %v", err)
	}
}

// TestCapturePartialSparse captures a sparse checkout of a partial clone, which lacks the
// bytes of files that are not checked out and can't fetch them.
func TestCapturePartialSparse(t *testing.T) {
	t.Parallel()
	_, from := sparseRepository(t, "", GitRef, true)
	runGit(t, from, "config", "uploadpack.allowFilter", "true")
	_, dir := gitKeeper(t, "", GitRef)
	clone := filepath.Join(t.TempDir(), "clone")
	runGit(t, dir, "clone", "-q", "--no-local", "--filter=blob:none", "--sparse", "file://"+from, clone)
	must(t, os.MkdirAll(filepath.Join(clone, ".state"), 0o755))
	put(t, clone, ".state/.gitignore", "*\n")
	must(t, os.RemoveAll(filepath.Join(from, ".git")))
	o := keeperOptions(clone)
	o.Mode = GitRef
	var err error
	o.Git, err = git.Open(t.Context(), gittest.Commander{}, clone)
	must(t, err)
	w := open(t, o)
	c, l := captureSparse(t, w, nil, 1)
	if len(l.Sparse) < len(outside) {
		t.Errorf("not checked out: %+v", l.Sparse)
	}
	if tree := runGit(t, clone, "ls-tree", "-r", "--name-only", c.Commit); tree != runGit(t, clone, "ls-tree", "-r", "--name-only", "HEAD") {
		t.Errorf("the commit has\n%s", tree)
	}
}

// TestSkippedButThere: an existing file with git's skip-worktree bit is captured with its
// present content.
func TestSkippedButThere(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitRef)
	put(t, dir, "f", "first")
	runGit(t, dir, "add", "-A", ".")
	runGit(t, dir, "commit", "-q", "-m", "first")
	runGit(t, dir, "update-index", "--skip-worktree", "f")
	put(t, dir, "f", "mine")
	_, l := captureSparse(t, w, nil, 1)
	if len(l.Sparse) != 0 || len(l.Entries) != 1 || l.Entries[0].Digest != shaOf("mine") {
		t.Errorf("captured %+v, not checked out %+v", l.Entries, l.Sparse)
	}
}

// TestCommitSparse commits to the branch, including files outside of the checkout, and
// resets the branch to the commit: files that are not checked out do not count as
// deleted.
func TestCommitSparse(t *testing.T) {
	t.Parallel()
	w, dir := sparseRepository(t, "", GitCommit, true)
	put(t, dir, "out/new", "new")
	first, l := captureSparse(t, w, nil, 1)
	if !slices.Contains(paths(l.Entries), "out/new") {
		t.Errorf("captured %+v", l.Entries)
	}
	put(t, dir, "in/a", "edited")
	captureSparse(t, w, &first.Capture, 2)
	if _, err := restoreTo(t.Context(), w, first.Listing, "x"); err != nil {
		t.Fatal(err)
	}
	must(t, w.Git().Reset(t.Context(), "main", first.Commit))
	if status := runGit(t, dir, "status", "--porcelain"); status != "" {
		t.Errorf("after the reset there is\n%s", status)
	}
	third, _ := captureSparse(t, w, &first.Capture, 3)
	if tree := runGit(t, dir, "ls-tree", "-r", "--name-only", third.Commit); tree != "in/a\nin/gone\nout/b\nout/deep/c\nout/link\nout/new\nout/run\ntop\n" {
		t.Errorf("the branch has\n%s", tree)
	}
}
