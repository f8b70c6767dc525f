package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

func commitAll(t testing.TB, g *git.Repository, leaveOut ...string) string {
	t.Helper()
	name, err := g.CommitAll(t.Context(), "checkpoint: step-1\n", git.Exclusions{Paths: leaveOut})
	if err != nil {
		t.Fatalf("commit all: %v", err)
	}
	return name
}

// TestCommitAllAndReset commits to the branch, and resets it.
func TestCommitAllAndReset(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	first := head(t, g)
	if got := commitAll(t, g); got != first {
		t.Errorf("with nothing to commit: %s, want HEAD's %s", got, first)
	}
	write(t, dir, "a.txt", "changed\n")
	write(t, dir, "new:*", "x")
	write(t, dir, ".env", "secret")
	write(t, dir, "*", "not a pattern")
	user(t, dir, "init", "-q", "nested")
	if err := os.Remove(filepath.Join(dir, "sub", "b.txt")); err != nil {
		t.Fatal(err)
	}
	second := commitAll(t, g, ".env", "*")
	want := map[string]string{".gitignore": "100644 *.log\nbuild/\n", "a.txt": "100644 changed\n", "new:*": "100644 x"}
	if diff := cmp.Diff(want, tree(t, dir, second)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	about := user(t, dir, "log", "-1", "--format=%P|%an|%B")
	if about != first+"|User|checkpoint: step-1\n\n" {
		t.Errorf("the commit is %q", about)
	}
	log, err := g.Log(t.Context(), first, second, 0)
	if diff := cmp.Diff([]git.LogEntry{{Commit: second, Subject: "checkpoint: step-1"}}, log); diff != "" || err != nil {
		t.Errorf("log: %v\n%s", err, diff)
	}
	if log, err = g.Log(t.Context(), "", second, 1); len(log) != 1 || err != nil {
		t.Errorf("log with a limit: %v, %v", log, err)
	}
	user(t, dir, "checkout", "-q", "-b", "elsewhere")
	if err := g.Reset(t.Context(), "main", first); err != nil {
		t.Fatal(err)
	}
	branch, at, err := g.Head(t.Context())
	if branch != "main" || at != first || err != nil {
		t.Errorf("after the reset: %s at %s, %v", branch, at, err)
	}
	if content, _, err := readWorkFile(filepath.Join(dir, "a.txt")); content != "changed\n" || err != nil {
		t.Errorf("the reset changed a file of the work tree to %q, %v", content, err)
	}
	if staged := user(t, dir, "diff", "--cached", "--name-only"); staged != "" {
		t.Errorf("after the reset the index differs from HEAD in %q", staged)
	}
	if err := g.Reset(t.Context(), "", second); err != nil {
		t.Fatal(err)
	}
	if branch, at, err := g.Head(t.Context()); branch != "" || at != second || err != nil {
		t.Errorf("after the reset to no branch: %q at %s, %v", branch, at, err)
	}
	var state *git.StateError
	if err := g.Reset(t.Context(), "gone", second); !errors.As(err, &state) || state.Remedy == "" {
		t.Errorf("reset to a branch that is gone: %v", err)
	}
}

func TestCommitAllWhereHeadIsUnusual(t *testing.T) {
	t.Parallel()
	needGit(t)
	dir := t.TempDir()
	user(t, dir, "init", "-q", "-b", "main")
	c := &commander{env: []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}} // no identity
	g, err := git.Open(t.Context(), c, dir)
	if err != nil {
		t.Fatal(err)
	}
	if branch, at, err := g.Head(t.Context()); branch != "main" || at != "" || err != nil {
		t.Errorf("unborn: %q at %q, %v", branch, at, err)
	}
	if got := commitAll(t, g); got != "" {
		t.Errorf("nothing on an unborn branch was committed as %q", got)
	}
	write(t, dir, "a", "x")
	first := commitAll(t, g)
	if about := user(t, dir, "log", "--format=%H %an <%ae>", "main"); about != first+" Runner <runner@localhost>\n" {
		t.Errorf("the first commit is %q", about)
	}
	user(t, dir, "checkout", "-q", "--detach")
	write(t, dir, "a", "y")
	second := commitAll(t, g)
	if at := strings.TrimSpace(user(t, dir, "rev-parse", "main")); at != first || head(t, g) != second {
		t.Errorf("the branch moved to %s with a detached HEAD", at)
	}
}

// TestCommitAllRefuses: during a merge, rebase or the like, CommitAll refuses and changes
// nothing.
func TestCommitAllRefuses(t *testing.T) {
	t.Parallel()
	for doing, prepare := range map[string]func(dir string){
		"merge":       func(dir string) { conflict(t, dir) },
		"rebase":      func(dir string) { diverge(t, dir); gitFails(dir, "rebase", "theirs") },
		"cherry-pick": func(dir string) { diverge(t, dir); gitFails(dir, "cherry-pick", "theirs") },
		"revert":      func(dir string) { conflictingRevert(t, dir) },
		"bisect":      func(dir string) { user(t, dir, "bisect", "start") },
		"": func(dir string) { // conflicts from a stash
			write(t, dir, "a.txt", "stashed\n")
			user(t, dir, "stash")
			write(t, dir, "a.txt", "committed\n")
			user(t, dir, "commit", "-q", "-a", "-m", "x")
			gitFails(dir, "stash", "pop")
		},
	} {
		dir := repository(t)
		prepare(dir)
		g := open(t, filepath.Join(dir, "sub")) // the conflicts are above the directory
		if got, err := g.InProgress(t.Context()); got != doing || err != nil {
			t.Errorf("%q is in progress, not %q: %v", got, doing, err)
		}
		write(t, dir, "sub/new", "x")
		before := userState(t, dir)
		var state *git.StateError
		if _, err := g.CommitAll(t.Context(), "x", git.Exclusions{}); !errors.As(err, &state) || state.Remedy == "" {
			t.Errorf("%q: got error %v", doing, err)
		}
		if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
			t.Errorf("%q: the refusal changed the repository:\n%s", doing, diff)
		}
	}
}

// diverge commits a.txt differently on main and on theirs.
func diverge(t testing.TB, dir string) {
	t.Helper()
	conflict(t, dir)
	user(t, dir, "merge", "--abort")
}

func conflictingRevert(t testing.TB, dir string) {
	t.Helper()
	for _, content := range []string{"2\n", "3\n"} {
		write(t, dir, "a.txt", content)
		user(t, dir, "commit", "-q", "-a", "-m", content)
	}
	gitFails(dir, "revert", "--no-edit", "HEAD~1")
}

func TestPushed(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	commits := []string{head(t, g)}
	for _, content := range []string{"2", "3"} {
		write(t, dir, "a.txt", content)
		commits = append(commits, commitAll(t, g))
	}
	if pushed, err := g.PushedCommits(t.Context(), commits[0], commits[2]); len(pushed) > 0 || err != nil {
		t.Errorf("without a remote: %v, %v", pushed, err)
	}
	bare := t.TempDir()
	user(t, bare, "init", "-q", "--bare")
	user(t, dir, "remote", "add", "origin", bare)
	user(t, dir, "push", "-q", "origin", commits[1]+":refs/heads/main")
	pushed, err := g.PushedCommits(t.Context(), commits[0], commits[2])
	if diff := cmp.Diff(commits[1:2], pushed); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	var made []string
	for _, name := range []string{"a", "a2/b", "c"} {
		made = append(made, commit(t, begin(t, g, name, "", "")))
	}
	all := map[string]string{
		"refs/runner/test/a": made[0], "refs/runner/test/a2/b": made[1], "refs/runner/test/c": made[2],
	}
	for prefix, want := range map[string][]string{
		"refs/runner/": {"a", "a2/b", "c"}, "refs/runner/test/a": {"a"}, "refs/runner/test/a2/": {"a2/b"}, "refs/runner/none": nil,
	} {
		refs, err := g.Refs(t.Context(), prefix)
		var names []string
		for ref, name := range refs {
			if all[ref] != name {
				t.Errorf("%s is %s, want %s", ref, name, all[ref])
			}
			names = append(names, strings.TrimPrefix(ref, "refs/runner/test/"))
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" || err != nil {
			t.Errorf("below %s: %v (-want +got):\n%s", prefix, err, diff)
		}
	}
	for _, bad := range []string{"refs/heads/main", "refs/runner/../heads/main", "HEAD", "refs/runner/x\x00create refs/heads/y"} {
		if err := g.DeleteRefs(t.Context(), []string{"refs/runner/test/a", bad}); err == nil {
			t.Errorf("%q was deleted", bad)
		}
	}
	if err := g.DeleteRefs(t.Context(), []string{"refs/runner/test/a", "refs/runner/test/none", "refs/runner/test/a2/b"}); err != nil {
		t.Error(err)
	}
	refs, err := g.Refs(t.Context(), "refs/runner")
	if diff := cmp.Diff(map[string]string{"refs/runner/test/c": made[2]}, refs); diff != "" || err != nil {
		t.Errorf("left: %v (-want +got):\n%s", err, diff)
	}
	blob := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD:a.txt"))
	for name, want := range map[string]bool{made[2]: true, blob: false, strings.Repeat("1", 40): false, "HEAD": false} {
		if got, err := g.CommitExists(t.Context(), name); got != want || err != nil {
			t.Errorf("commit %s exists: %v, %v", name, got, err)
		}
	}
}

// TestStatus: Status does not refresh the user's index, unlike git status.
func TestStatus(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, dir, "a.txt", "x")
	earlier := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "sub", "b.txt"), earlier, earlier); err != nil {
		t.Fatal(err)
	}
	before := userState(t, dir)
	if status, err := open(t, dir).Status(t.Context()); status != "## main\n M a.txt\n" || err != nil {
		t.Errorf("status %q, %v", status, err)
	}
	if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
		t.Errorf("the repository changed:\n%s", diff)
	}
}
