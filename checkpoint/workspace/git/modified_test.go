package git_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

func modified(path string, status git.FileStatus, staged bool) git.Modified {
	return git.Modified{Path: path, Status: status, Staged: staged}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestModified lists the files of a work tree that differ from HEAD in every way, and
// leaves the repository alone.
func TestModified(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	for _, name := range []string{"both", "gone", "kept", "link", "staged", "unstaged", "sub/inner"} {
		write(t, dir, name, name)
	}
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "more")
	conflict(t, dir)
	write(t, dir, "staged", "x")
	write(t, dir, "both", "x")
	write(t, dir, "new", "")
	write(t, dir, "new and gone", "")
	user(t, dir, "add", "staged", "both", "new", "new and gone")
	write(t, dir, "intended", "")
	user(t, dir, "add", "-N", "intended")
	user(t, dir, "rm", "-q", "--cached", "kept")
	user(t, dir, "mv", "sub/inner", "sub/moved")
	write(t, dir, "both", "xx")
	write(t, dir, "unstaged", "x")
	for _, name := range []string{"gone", "new and gone", "link"} {
		mustDo(t, os.Remove(filepath.Join(dir, name)))
	}
	mustDo(t, os.Symlink("both", filepath.Join(dir, "link")))
	write(t, dir, "odd\nname\xff", "")
	write(t, dir, "skipped/state", "")
	write(t, dir, "x.log", "ignored")
	user(t, dir, "init", "-q", "nested")
	write(t, dir, "nested/file", "")

	before := userState(t, dir)
	got, err := open(t, dir).Modified(t.Context(), []string{"skipped"})
	mustDo(t, err)
	want := []git.Modified{
		modified("a.txt", git.FileConflicted, true),
		modified("both", git.FileModified, true),
		modified("gone", git.FileDeleted, false),
		modified("intended", git.FileAdded, false),
		modified("kept", git.FileDeleted, true),
		modified("link", git.FileModified, false),
		modified("new", git.FileAdded, true),
		modified("new and gone", git.FileDeleted, true),
		modified("staged", git.FileModified, true),
		modified("sub/inner", git.FileDeleted, true),
		modified("sub/moved", git.FileAdded, true),
		modified("unstaged", git.FileModified, false),
		modified("kept", git.FileUntracked, false),
		modified("nested/", git.FileUntracked, false),
		modified("odd\nname\xff", git.FileUntracked, false),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differ from HEAD:\n%s", diff)
	}
	sub, err := open(t, filepath.Join(dir, "sub")).Modified(t.Context(), nil)
	mustDo(t, err)
	want = []git.Modified{modified("inner", git.FileDeleted, true), modified("moved", git.FileAdded, true)}
	if diff := cmp.Diff(want, sub); diff != "" {
		t.Errorf("in a directory differ from HEAD:\n%s", diff)
	}
	if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
		t.Errorf("the repository changed:\n%s", diff)
	}
}

// TestModifiedBesideGit: an index whose data about files is old is not refreshed, and a
// lock on it is not in the way.
func TestModifiedBesideGit(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	earlier := time.Now().Add(-time.Hour)
	mustDo(t, os.Chtimes(filepath.Join(dir, "sub", "b.txt"), earlier, earlier))
	write(t, dir, ".git/index.lock", "")
	before := userState(t, dir)
	if got, err := open(t, dir).Modified(t.Context(), nil); len(got) > 0 || err != nil {
		t.Errorf("differ from HEAD: %v, %v", got, err)
	}
	if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
		t.Errorf("the repository changed:\n%s", diff)
	}
}

// TestModifiedBeforeTheFirstCommit: without a commit, everything in the index is added.
func TestModifiedBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := t.TempDir()
	user(t, dir, "init", "-q")
	write(t, dir, "a", "")
	write(t, dir, "b", "")
	user(t, dir, "add", "a")
	got, err := open(t, dir).Modified(t.Context(), nil)
	mustDo(t, err)
	if diff := cmp.Diff([]git.Modified{modified("a", git.FileAdded, true), modified("b", git.FileUntracked, false)}, got); diff != "" {
		t.Errorf("differ from HEAD:\n%s", diff)
	}
}
