//go:build unix

package rollback

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TestPlanFinish plans how to finish an interrupted rollback, and another rollback after
// that, and then finishes. The plan must be right, and one checkpoint must have the file
// that was edited in between.
func TestPlanFinish(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHalfway(t, store.NewMemory())
	h.cutShort()
	checkpointtest.Must(t, h.Lock().Close()) // the killed owner is this process, and so seems to be alive
	s, w := h.Open(), h.openFiles()
	defer func() { checkpointtest.Must(t, w.Close()) }()
	f, err := PlanFinish(ctx, s, w, "PRD-009")
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "edited", f.Edited, []string{"a"})
	if f.To != h.first || f.After.Rollback != nil || f.After.Steps != h.past || f.Moved != nil {
		t.Errorf("to %s, step %d, %+v", f.To, f.After.Steps, f.After.Rollback)
	}
	plan, err := PlanTo(ctx, s, w, "PRD-009", Options{To: f.Safety})
	checkpointtest.Must(t, err)
	if plan.Finish == nil || plan.Step != h.past || plan.Undoes != f.ID {
		t.Errorf("step %d, undoes %q, %+v", plan.Step, plan.Undoes, plan.Finish)
	}

	x := h.Lock()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	var unfinished *checkpoint.UnfinishedRollbackError
	if _, err := Run(ctx, x, w, Options{To: f.Safety}); !errors.As(err, &unfinished) || unfinished.To != h.first {
		t.Errorf("rolled back: %v", err)
	}
	checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error { return keepEdits(ctx, x, w) }))
	checkpointtest.Must(t, x.WithExclusiveLock(ctx, func() error { return keepEdits(ctx, x, w) }))
	_, err = Finish(ctx, x, w)
	checkpointtest.Must(t, err)
	kept := x.State().KeptEdits(f.RollbackStarted)
	if len(kept) != 1 || x.State().Steps != f.After.Steps {
		t.Fatalf("step %d, kept %+v", x.State().Steps, kept)
	}
	checkpointtest.Same(t, "files", h.files(), h.then)
	_, err = Run(ctx, x, w, Options{To: kept[0].ID, Scope: state.RollbackFiles})
	checkpointtest.Must(t, err)
	got, err := os.ReadFile(filepath.Join(h.ws, "a"))
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "a", string(got), "edited meanwhile")
}

// TestFinishAfterCommits interrupts a rollback that resets a branch, and lets a user
// commit or check out. Finish must continue only if HEAD is where the rollback, or an
// interrupted capture, left it. Otherwise it must return the commits made since, and
// leave HEAD alone.
func TestFinishAfterCommits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since func(s *gitProject)
		moved bool
		made  int // commits
	}{
		"nothing":              {since: func(*gitProject) {}},
		"it was reset already": {since: func(s *gitProject) { s.Git("reset", "--quiet", "--soft", "HEAD~2") }},
		"a capture, cut short too": {since: func(s *gitProject) {
			s.Git("commit", "--quiet", "--allow-empty", "--message", checkpoint.CaptureSubject(s.Session.State()))
		}},
		"a commit":                    {since: func(s *gitProject) { s.commit("mine") }, moved: true, made: 1},
		"two, after a capture":        {since: func(s *gitProject) { s.commit("mine"); s.commit("more") }, moved: true, made: 2},
		"one after it was reset":      {since: func(s *gitProject) { s.Git("reset", "--quiet", "--soft", "HEAD~2"); s.commit("mine") }, moved: true, made: 1},
		"another branch is there":     {since: func(s *gitProject) { s.Git("checkout", "--quiet", "-b", "other") }, moved: true},
		"none is":                     {since: func(s *gitProject) { s.Git("checkout", "--quiet", "--detach") }, moved: true},
		"it was taken back to before": {since: func(s *gitProject) { s.Git("reset", "--quiet", "--soft", "HEAD~1") }, moved: true, made: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newGitProjectIn(t, workspace.GitCommit, map[string]string{"a": "first"})
			s.commit("between")
			s.Put(map[string]string{"a": "second"})
			plan, err := planTo(ctx, s.Session.Store(), s.Workspace, s.Session.State(), Options{To: s.Target})
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, s.Session.WithExclusiveLock(ctx, func() error { return begin(ctx, s.Session, s.Workspace, plan, Options{}) }))
			c.since(s)
			f, err := planFinish(ctx, s.Session.Store(), s.Workspace, s.Session.State())
			checkpointtest.Must(t, err)
			_, head, err := s.Workspace.Git().Head(ctx)
			checkpointtest.Must(t, err)
			_, err = Finish(ctx, s.Session, s.Workspace)
			var moved *HeadMovedError
			if refused := errors.As(err, &moved); refused != c.moved || !refused && err != nil || (f.Moved != nil) != c.moved {
				t.Fatalf("finished: %v, planned: %v", err, f.Moved)
			}
			if !c.moved {
				return
			}
			if _, now, err := s.Workspace.Git().Head(ctx); err != nil || now != head || len(moved.Since) != c.made {
				t.Errorf("HEAD is %s instead of %s, %v; %v", now, head, err, moved)
			}
		})
	}
}

// commit makes an empty commit, as a user does.
func (s *gitProject) commit(subject string) {
	s.T.Helper()
	s.Git("-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "--quiet", "--allow-empty", "--message", subject)
}
