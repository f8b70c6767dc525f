package git_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

// TestResetKeepsFiles: a secret that the target commit has and that is no longer tracked
// stays unchanged in the work tree.
func TestResetKeepsFiles(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	write(t, dir, ".env", "old")
	user(t, dir, "add", ".env")
	first := commitAll(t, g)
	user(t, dir, "rm", "-q", "--cached", ".env")
	commitAll(t, g, ".env")
	write(t, dir, ".env", "new")
	for range 2 {
		if err := g.Reset(t.Context(), "main", first); err != nil {
			t.Fatal(err)
		}
		if content, _, err := readWorkFile(filepath.Join(dir, ".env")); content != "new" || err != nil {
			t.Fatalf("the reset made .env %q, %v", content, err)
		}
	}
	if at := head(t, g); at != first {
		t.Errorf("HEAD is at %s", at)
	}
}

// TestResetRefuses: a reset that would discard changes outside of the directory is
// refused, and changes nothing.
func TestResetRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(dir string)
		want    string
	}{
		"edited":    {func(dir string) { write(t, dir, "a.txt", "edited") }, "uncommitted changes"},
		"staged":    {func(dir string) { write(t, dir, "n", "x"); user(t, dir, "add", "n") }, "uncommitted changes"},
		"committed": {func(dir string) { write(t, dir, "a.txt", "x"); user(t, dir, "commit", "-qam", "x") }, `"a.txt" for one`},
		"nothing":   {func(string) {}, ""},
		"untracked": {func(dir string) { write(t, dir, "n", "x") }, ""},
	} {
		dir := repository(t)
		g := open(t, filepath.Join(dir, "sub"))
		first := head(t, g)
		write(t, dir, "sub/b.txt", "2")
		commitAll(t, g)
		c.prepare(dir)
		before := userState(t, dir)
		err := g.Reset(t.Context(), "main", first)
		if c.want == "" {
			if at := head(t, g); err != nil || at != first {
				t.Errorf("%s: HEAD is at %s, %v", name, at, err)
			}
			continue
		}
		var state *git.StateError
		if !errors.As(err, &state) || !strings.Contains(state.Detail, c.want) || state.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
			t.Errorf("%s: the refusal changed the repository:\n%s", name, diff)
		}
	}
}

// TestResetToABranchElsewhere: a reset to a branch that is checked out in another work
// tree is refused.
func TestResetToABranchElsewhere(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	user(t, dir, "worktree", "add", "-q", "-b", "theirs", filepath.Join(t.TempDir(), "tree"))
	var state *git.StateError
	if err := g.Reset(t.Context(), "theirs", head(t, g)); !errors.As(err, &state) || !strings.Contains(state.Detail, "checked out in") {
		t.Errorf("got error %v", err)
	}
}

// TestResetRefusesOtherNames: what is not the name of a commit, or looks like an option,
// is refused, and nothing is changed.
func TestResetRefusesOtherNames(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	first := head(t, g)
	commitAll(t, g)
	before := userState(t, dir)
	for _, to := range []struct{ branch, commit string }{
		{"main", "HEAD~1"}, {"main", ""}, {"main", "--soft"}, {"main", first[:10]}, {"-", first}, {"--detach", first},
	} {
		if err := g.CheckReset(t.Context(), to.branch, to.commit); err == nil {
			t.Errorf("a reset of %q to %q would be allowed", to.branch, to.commit)
		}
		if err := g.Reset(t.Context(), to.branch, to.commit); err == nil {
			t.Errorf("%q was reset to %q", to.branch, to.commit)
		}
	}
	if diff := cmp.Diff(before, userState(t, dir)); diff != "" {
		t.Errorf("a refused reset changed (-before +after):\n%s", diff)
	}
}
