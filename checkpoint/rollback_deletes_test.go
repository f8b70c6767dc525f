package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// reopen opens the workspace with another mode of git.
func (s *scoped) reopen(mode workspace.GitMode) {
	s.t.Helper()
	must(s.t, s.w.Close())
	var g *git.Repository
	var err error
	if mode != workspace.GitOff {
		g, err = git.Open(context.Background(), commander{}, s.ws)
		must(s.t, err)
	}
	s.w, err = s.open().OpenWorkspace(s.ws, g, mode)
	must(s.t, err)
}

// checkpoint captures the files by patterns, and names that.
func (s *scoped) checkpoint(patterns ...string) string {
	s.t.Helper()
	ctx := context.Background()
	_, err := s.x.Capture(ctx, s.w, patterns)
	must(s.t, err)
	ref, err := s.x.Create(ctx, s.w, "")
	must(s.t, err)
	return ref.ID
}

// TestRollbackDeletesInScope: of what came since, only that is deleted which the
// capture of the target would have had, and an undo brings it back.
func TestRollbackDeletesInScope(t *testing.T) {
	t.Parallel()
	files := func(paths ...string) map[string]string {
		all := map[string]string{}
		for _, path := range paths {
			all[path] = "new"
		}
		return all
	}
	for name, c := range map[string]struct {
		then, now         workspace.GitMode
		patterns, later   []string
		ignore            string
		deleted, remained []string
	}{
		"outside git, more patterns later": {
			then: workspace.GitOff, now: workspace.GitOff, patterns: []string{"src-*"}, later: []string{"**"},
			deleted: []string{"src-new"}, remained: []string{"precious"},
		},
		"in git only later": {
			then: workspace.GitOff, now: workspace.GitRef, patterns: []string{"src-*"}, later: []string{"src-*"},
			deleted: []string{"src-new"}, remained: []string{"precious"},
		},
		"in git, more patterns later": {
			then: workspace.GitRef, now: workspace.GitRef, later: []string{"gen-*"}, ignore: "gen-*\n",
			deleted: []string{"src-new"}, remained: []string{"gen-precious"},
		},
		"in git, then without": {
			then: workspace.GitRef, now: workspace.GitOff, later: []string{"**"},
			deleted: []string{"src-new"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			first := map[string]string{"src-old": "old"}
			if c.ignore != "" {
				first[".gitignore"] = c.ignore
			}
			s := newScoped(t, first)
			s.reopen(c.then)
			target := s.checkpoint(c.patterns...)
			came := files(append(slices.Clone(c.deleted), c.remained...)...)
			s.put(came)
			s.reopen(c.now)
			s.checkpoint(c.later...)
			plan, err := PlanRollback(ctx, s.open(), s.w, "PRD-009", RollbackOptions{To: target})
			must(t, err)
			var deletes []string
			for _, change := range plan.Changes {
				deletes = append(deletes, change.Path)
			}
			same(t, "the plan", deletes, c.deleted)
			done, err := RunRollback(ctx, s.x, s.w, RollbackOptions{To: target})
			must(t, err)
			for _, path := range c.deleted {
				s.holds("gone back", map[string]string{path: ""})
			}
			s.holds("gone back", files(c.remained...))
			_, err = RunRollback(ctx, s.x, s.w, RollbackOptions{To: done.Safety})
			must(t, err)
			s.holds("undone", came)
		})
	}
}

// TestRollbackMakesRoom: what is in the way of a directory that comes back is
// deleted, also where the target would not have captured it.
func TestRollbackMakesRoom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScoped(t, nil)
	s.reopen(workspace.GitOff)
	must(t, os.Mkdir(filepath.Join(s.ws, "src"), 0o700))
	s.put(map[string]string{"src/a": "a"})
	target := s.checkpoint("src/*")
	must(t, os.RemoveAll(filepath.Join(s.ws, "src")))
	s.put(map[string]string{"src": "a file"})
	s.checkpoint("**")
	_, err := RunRollback(ctx, s.x, s.w, RollbackOptions{To: target})
	must(t, err)
	s.holds("gone back", map[string]string{"src/a": "a"})
}
