package git_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

// TestCommitAllOutside: changes that are staged outside of the directory stay staged and
// are in no commit, so that they don't prevent a reset.
func TestCommitAllOutside(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, dir, "other/gone", "x")
	write(t, dir, "other/edited", "x")
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "second")
	user(t, dir, "config", "diff.relative", "true")
	write(t, dir, "other/edited", "y")
	write(t, dir, "other/new", "z")
	user(t, dir, "rm", "-q", "other/gone")
	user(t, dir, "add", "other")
	write(t, dir, "sub/new", "n")
	g := open(t, filepath.Join(dir, "sub"))
	first := head(t, g)
	second := commitAll(t, g)
	if changed := user(t, dir, "diff-tree", "-r", "--name-only", first, second); changed != "sub/new\n" {
		t.Errorf("committed %q", changed)
	}
	const want = "M  other/edited\nD  other/gone\nA  other/new\n"
	if status := user(t, dir, "status", "--porcelain"); status != want {
		t.Errorf("the status is\n%s, want\n%s", status, want)
	}
	if third := commitAll(t, g); third != second {
		t.Errorf("with nothing to commit: %s, want %s", third, second)
	}
	if err := g.Reset(t.Context(), "main", second); err != nil {
		t.Errorf("stay at the commit: %v", err)
	}
	if status := user(t, dir, "status", "--porcelain"); status != want {
		t.Errorf("afterwards the status is\n%s, want\n%s", status, want)
	}
	user(t, dir, "reset", "-q", "--hard")
	if err := g.Reset(t.Context(), "main", first); err != nil {
		t.Errorf("go back: %v", err)
	}
}

// TestCommitAllFirstOutside: on a branch without a commit, a file that is staged outside
// of the directory stays staged and is not in the first commit.
func TestCommitAllFirstOutside(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := t.TempDir()
	user(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "other", "o")
	write(t, dir, "sub/a", "x")
	user(t, dir, "add", "other")
	first := commitAll(t, open(t, filepath.Join(dir, "sub")))
	if diff := cmp.Diff(map[string]string{"sub/a": "100644 x"}, tree(t, dir, first)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if status := user(t, dir, "status", "--porcelain"); status != "A  other\n" {
		t.Errorf("the status is %q", status)
	}
}

// TestCommitAllLeavesOutIgnored: git complains about excluded files that are ignored,
// too, tracked or not. CommitAll commits the other files nevertheless.
func TestCommitAllLeavesOutIgnored(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, dir, "build/tracked", "x")
	user(t, dir, "add", "-f", "build/tracked")
	user(t, dir, "commit", "-q", "-m", "second")
	user(t, dir, "config", "advice.addIgnoredFile", "false")
	g := open(t, dir)
	first := head(t, g)
	write(t, dir, "build/tracked", "changing")
	write(t, dir, "build/pipe", "")
	write(t, dir, "new", "n")
	second := commitAll(t, g, "build/tracked", "build/pipe", "build/gone")
	if changed := user(t, dir, "diff-tree", "-r", "--name-only", first, second); changed != "new\n" {
		t.Errorf("committed %q", changed)
	}
}

// TestCommitAllFails: if the commit can't be made, the index is restored.
func TestCommitAllFails(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	write(t, dir, "new", "n")
	write(t, dir, "staged", "s")
	user(t, dir, "add", "staged")
	write(t, dir, ".git/refs/heads/main.lock", "")
	if made, err := g.CommitAll(t.Context(), "x", git.Exclusions{}); err == nil {
		t.Fatalf("committed %s", made)
	}
	if status := user(t, dir, "status", "--porcelain"); status != "A  staged\n?? new\n" {
		t.Errorf("the status is %q", status)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".git", "index*")); len(left) != 1 {
		t.Errorf("left %s", strings.Join(left, " "))
	}
}
