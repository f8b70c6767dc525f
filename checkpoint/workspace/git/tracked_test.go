package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/workspace/git"
)

// TestTrackedBelow: TrackedBelow finds the tracked files below a directory in every form
// of the index and every kind of repository. If no file is tracked, TrackedBelow starts
// no git.
func TestTrackedBelow(t *testing.T) {
	t.Parallel()
	needGit(t)
	add := func(t *testing.T, dir string) {
		write(t, dir, "state/PRD-001/journal.jsonl", "{}")
		write(t, dir, "state/PRD-001.json", "{}")
		write(t, dir, "other/file", "x")
		user(t, dir, "add", ".")
	}
	all := []string{"PRD-001.json", "PRD-001/journal.jsonl"}
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string) (state string)
		want    []string
		started int32
	}{
		{"version 2", func(t *testing.T, dir string) string {
			add(t, dir)
			return "state"
		}, all, 1},
		{"version 4", func(t *testing.T, dir string) string {
			user(t, dir, "config", "index.version", "4")
			add(t, dir)
			return "state"
		}, all, 1},
		{"a split index", func(t *testing.T, dir string) string {
			add(t, dir)
			user(t, dir, "update-index", "--split-index")
			write(t, dir, "later", "x")
			user(t, dir, "add", "later")
			return "state"
		}, all, 1},
		{"a sparse index", func(t *testing.T, dir string) string {
			write(t, dir, "sub/state/PRD-001.json", "{}")
			user(t, dir, "add", ".")
			user(t, dir, "commit", "-q", "-m", "all")
			user(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "none")
			write(t, dir, "sub/state/PRD-001.json", "{}")
			return "sub/state"
		}, []string{"PRD-001.json"}, 1},
		{"through a link", func(t *testing.T, dir string) string {
			add(t, dir)
			if err := os.Symlink(".", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			return "link/state"
		}, all, 1},
		{"another work tree", func(t *testing.T, dir string) string {
			add(t, dir)
			user(t, dir, "commit", "-q", "-m", "all")
			user(t, dir, "worktree", "add", "-q", "tree")
			return "tree/state"
		}, all, 1},
		{"a repository of its own", func(t *testing.T, dir string) string {
			user(t, dir, "init", "-q", "state")
			write(t, dir, "state/PRD-001.json", "{}")
			user(t, filepath.Join(dir, "state"), "add", ".")
			return "state"
		}, []string{"PRD-001.json"}, 1},
		{"nothing of it", func(t *testing.T, dir string) string {
			add(t, dir)
			user(t, dir, "rm", "-r", "-q", "--cached", "state")
			return "state"
		}, nil, 0},
		{"no index", func(t *testing.T, dir string) string {
			write(t, dir, "state/PRD-001.json", "{}")
			return "state"
		}, nil, 0},
		{"no such directory", func(t *testing.T, dir string) string { return "state" }, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			at := filepath.Join(dir, test.prepare(t, dir))
			c := &commander{env: userEnv()}
			got, err := git.TrackedBelow(t.Context(), c, at)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("tracked: %q, want %q", got, test.want)
			}
			if n := c.started.Load(); n != test.started {
				t.Errorf("git was started %d times, want %d", n, test.started)
			}
			if len(got) == 0 {
				return
			}
			if err := git.Untrack(t.Context(), c, at, got); err != nil {
				t.Fatal(err)
			}
			if got, err := git.TrackedBelow(t.Context(), c, at); err != nil || len(got) > 0 {
				t.Errorf("tracked afterwards: %q, %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(at, "PRD-001.json")); err != nil {
				t.Error(err)
			}
		})
	}
}
