package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

// TestGitLockLeft: a killed git leaves one of several locks. The error names the lock and
// the command that removes it. Runner changes nothing, since the lock may belong to a
// running git.
func TestGitLockLeft(t *testing.T) {
	t.Parallel()
	commit := func(t *testing.T, _ string, g *git.Repository) error {
		_, err := g.CommitAll(t.Context(), "x", git.Exclusions{})
		return err
	}
	reset := func(t *testing.T, dir string, g *git.Repository) error {
		first := strings.TrimSpace(user(t, dir, "rev-parse", "aside"))
		return g.Reset(t.Context(), "main", first)
	}
	forget := func(t *testing.T, _ string, g *git.Repository) error {
		return g.DeleteRefs(t.Context(), []string{"refs/runner/PRD-001/packed"})
	}
	for name, test := range map[string]struct {
		lock string
		do   func(*testing.T, string, *git.Repository) error
	}{
		"index, commit":       {"index.lock", commit},
		"HEAD, commit":        {"HEAD.lock", commit},
		"branch, commit":      {"refs/heads/main.lock", commit},
		"index, reset":        {"index.lock", reset},
		"HEAD, reset":         {"HEAD.lock", reset},
		"branch, reset":       {"refs/heads/main.lock", reset},
		"packed refs, delete": {"packed-refs.lock", forget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			user(t, dir, "branch", "aside")
			user(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
			user(t, dir, "update-ref", "refs/runner/PRD-001/packed", "HEAD")
			user(t, dir, "pack-refs", "--all")
			write(t, dir, "sub/b.txt", "edited\n")
			g := open(t, dir)
			lock := filepath.Join(dir, ".git", filepath.FromSlash(test.lock))
			write(t, dir, ".git/"+test.lock, "")
			repositoryState := func() string {
				return user(t, dir, "--no-optional-locks", "status", "--porcelain=v2", "--branch") + user(t, dir, "show-ref", "--head")
			}
			before := repositoryState()
			var state *git.StateError
			if err := test.do(t, dir, g); !errors.As(err, &state) {
				t.Fatalf("got error %v", err)
			}
			if !strings.Contains(state.Detail, lock) || !strings.HasSuffix(state.Remedy, "rm "+lock) {
				t.Errorf("the error does not name the lock or how to remove it: %s (%s)", state.Detail, state.Remedy)
			}
			if diff := cmp.Diff(before, repositoryState()); diff != "" {
				t.Errorf("the refusal changed the repository:\n%s", diff)
			}
			if err := os.Remove(lock); err != nil {
				t.Fatalf("the lock was removed: %v", err)
			}
			if err := test.do(t, dir, g); err != nil {
				t.Errorf("without the lock: %v", err)
			}
		})
	}
}
