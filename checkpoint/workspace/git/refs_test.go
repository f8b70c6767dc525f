package git_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

// TestCreateRefRefusesOtherNames: only references below refs/runner/ are created, only of
// commits, and none over an existing one.
func TestCreateRefRefusesOtherNames(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g, first := open(t, dir), strings.TrimSpace(user(t, dir, "rev-parse", "HEAD"))
	const ref = "refs/runner/PRD-001/s/1"
	if err := g.CreateRef(t.Context(), ref, first); err != nil {
		t.Fatal(err)
	}
	second := commitAll(t, g)
	for name, c := range map[string]struct{ ref, commit string }{
		"a branch":        {"refs/heads/other", second},
		"not below refs":  {"runner/1", second},
		"a revision":      {"refs/runner/PRD-001/s/2", "HEAD"},
		"an option":       {"refs/runner/PRD-001/s/2", "--stdin"},
		"an abbreviation": {"refs/runner/PRD-001/s/2", second[:12]},
		"an existing one": {ref, second},
	} {
		if err := g.CreateRef(t.Context(), c.ref, c.commit); err == nil {
			t.Errorf("%s: %s was created for %s", name, c.ref, c.commit)
		}
	}
	want := map[string]string{ref: first, "refs/heads/main": second}
	if got := refs(t, g); !maps.Equal(got, want) {
		t.Errorf("references (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// refs returns all references of a repository.
func refs(t *testing.T, g *git.Repository) map[string]string {
	t.Helper()
	all, err := g.Refs(t.Context(), "refs/")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFreeRef: a reference that exists, that others lie below, or whose lock a killed git
// left is not free.
func TestFreeRef(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	for _, name := range []string{"refs/runner/a/1", "refs/runner/a/1-2", "refs/runner/b/1/below"} {
		user(t, dir, "update-ref", name, "HEAD")
	}
	for _, lock := range []string{"refs/runner/a/1-3.lock", "refs/runner/c/1.lock"} {
		write(t, dir, ".git/"+lock, "")
	}
	g := open(t, dir)
	for wanted, want := range map[string]string{
		"refs/runner/a/1": "refs/runner/a/1-4", "refs/runner/a/2": "refs/runner/a/2",
		"refs/runner/b/1": "refs/runner/b/1-2", "refs/runner/c/1": "refs/runner/c/1-2",
	} {
		got, err := g.FreeRef(t.Context(), wanted)
		if err != nil || got != want {
			t.Errorf("instead of %s, %q is free (%v), want %s", wanted, got, err, want)
			continue
		}
		if err := g.CreateRef(t.Context(), got, head(t, g)); err != nil {
			t.Errorf("a free reference can't be created: %v", err)
		}
	}
	if _, err := g.Refs(t.Context(), "heads/main"); err == nil {
		t.Error("references were listed that are not below refs/")
	}
}

// TestKeepCommits: each commit that the repository has gets its reference. What is no
// commit, or is not there, is left out.
func TestKeepCommits(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	first := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD"))
	second := commitAll(t, g)
	tree := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD^{tree}"))
	if err := g.KeepCommits(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := g.KeepCommits(t.Context(), map[string]string{
		"refs/runner/a/1": first, "refs/runner/a/2": second, "refs/runner/a/3": second,
		"refs/runner/a/4": tree, "refs/runner/a/5": strings.Repeat("0", len(first)),
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"refs/heads/main": second, "refs/runner/a/1": first, "refs/runner/a/2": second, "refs/runner/a/3": second}
	if got := refs(t, g); !maps.Equal(got, want) {
		t.Errorf("references (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestBranches looks for branches of the repository and of its remotes, and for their
// commits.
func TestBranches(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	first := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD"))
	user(t, dir, "branch", "old")
	user(t, dir, "branch", "old2/below")
	user(t, dir, "update-ref", "refs/remotes/origin/feature/x", "HEAD")
	second := commitAll(t, g)
	for branch, want := range map[string]struct {
		there  bool
		commit string
	}{
		"main": {true, second}, "old": {true, first}, "old2/below": {true, first}, "old2": {false, ""},
		"feature/x": {true, ""}, "origin/feature/x": {false, ""}, "x": {false, ""}, "none": {false, ""},
	} {
		if there, err := g.HasBranch(t.Context(), branch); err != nil || there != want.there {
			t.Errorf("%s: exists %v (%v), want %v", branch, there, err, want.there)
		}
		if commit, err := g.BranchCommit(t.Context(), branch); err != nil || commit != want.commit {
			t.Errorf("%s: is at %q (%v), want %q", branch, commit, err, want.commit)
		}
	}
	if commit, err := g.BranchCommit(t.Context(), ""); err != nil || commit != second {
		t.Errorf("HEAD is at %q (%v), want %s", commit, err, second)
	}
}

// TestCommitFiles lists the files of a commit, below the directory alone, and refuses what
// is not the name of a commit.
func TestCommitFiles(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	blob := func(path string) string { return strings.TrimSpace(user(t, dir, "rev-parse", "HEAD:"+path)) }
	commit := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD"))
	b := git.File{Path: "b.txt", Tracked: true, Mode: 0o100644, Blob: blob("sub/b.txt")}
	below := b
	below.Path = "sub/b.txt"
	for at, want := range map[string][]git.File{
		dir: {
			{Path: ".gitignore", Tracked: true, Mode: 0o100644, Blob: blob(".gitignore")},
			{Path: "a.txt", Tracked: true, Mode: 0o100644, Blob: blob("a.txt")},
			below,
		},
		dir + "/sub": {b},
	} {
		g := open(t, at)
		files, err := g.CommitFiles(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, name := range []string{"HEAD", "", "--help", commit[:10]} {
			if files, err := g.CommitFiles(t.Context(), name); err == nil {
				t.Errorf("the files of %q were listed: %v", name, files)
			}
		}
	}
}
