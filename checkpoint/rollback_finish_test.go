//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TestPlanFinish looks at a rollback that was cut short, plans another one over
// it, and finishes it: the plan was true, and what was edited is named once.
func TestPlanFinish(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHalfway(t, store.NewMemory())
	h.cutShort()
	must(t, h.lock().Close()) // who was killed is this process, and so seems to be alive
	s, w := h.open(), h.openFiles()
	defer func() { must(t, w.Close()) }()
	f, err := PlanFinish(ctx, s, w, "PRD-009")
	must(t, err)
	same(t, "edited", f.Edited, []string{"a"})
	if f.To != h.first || f.After.Rollback != nil || f.After.Steps != h.past || f.Moved != nil {
		t.Errorf("to %s, step %d, %+v", f.To, f.After.Steps, f.After.Rollback)
	}
	plan, err := PlanRollback(ctx, s, w, "PRD-009", RollbackOptions{To: f.Safety})
	must(t, err)
	if plan.Finish == nil || plan.Step != h.past || plan.Undoes != f.ID {
		t.Errorf("step %d, undoes %q, %+v", plan.Step, plan.Undoes, plan.Finish)
	}

	x := h.lock()
	defer func() { must(t, x.Close()) }()
	var unfinished *UnfinishedRollbackError
	if _, err := RunRollback(ctx, x, w, RollbackOptions{To: f.Safety}); !errors.As(err, &unfinished) || unfinished.To != h.first {
		t.Errorf("rolled back: %v", err)
	}
	must(t, x.WithExclusiveLock(ctx, func() error { return keepEdits(ctx, x, w) }))
	must(t, x.WithExclusiveLock(ctx, func() error { return keepEdits(ctx, x, w) }))
	_, err = FinishRollback(ctx, x, w)
	must(t, err)
	kept := x.State().KeptEdits(f.RollbackStarted)
	if len(kept) != 1 || x.State().Steps != f.After.Steps {
		t.Fatalf("step %d, kept %+v", x.State().Steps, kept)
	}
	same(t, "the files", h.files(), h.then)
	_, err = RunRollback(ctx, x, w, RollbackOptions{To: kept[0].ID, Scope: state.RollbackFiles})
	must(t, err)
	got, err := os.ReadFile(filepath.Join(h.ws, "a"))
	must(t, err)
	same(t, "a", string(got), "edited meanwhile")
}

// TestFinishAfterCommits cuts rollbacks short that reset a branch, at the places
// where git can stand then, and lets people commit and check out: only what git
// was left at is gone on from.
func TestFinishAfterCommits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since func(s *scoped)
		moved bool
		made  int // commits
	}{
		"nothing":              {since: func(*scoped) {}},
		"it was reset already": {since: func(s *scoped) { s.git("reset", "--quiet", "--soft", "HEAD~2") }},
		"a capture, cut short too": {since: func(s *scoped) {
			s.git("commit", "--quiet", "--allow-empty", "--message", captureMessage(s.x.State(), ""))
		}},
		"a commit":                    {since: func(s *scoped) { s.commit("mine") }, moved: true, made: 1},
		"two, after a capture":        {since: func(s *scoped) { s.commit("mine"); s.commit("more") }, moved: true, made: 2},
		"one after it was reset":      {since: func(s *scoped) { s.git("reset", "--quiet", "--soft", "HEAD~2"); s.commit("mine") }, moved: true, made: 1},
		"another branch is there":     {since: func(s *scoped) { s.git("checkout", "--quiet", "-b", "other") }, moved: true},
		"none is":                     {since: func(s *scoped) { s.git("checkout", "--quiet", "--detach") }, moved: true},
		"it was taken back to before": {since: func(s *scoped) { s.git("reset", "--quiet", "--soft", "HEAD~1") }, moved: true, made: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newScopedIn(t, workspace.GitCommit, map[string]string{"a": "first"})
			s.commit("between")
			s.put(map[string]string{"a": "second"})
			plan, err := planRollback(ctx, s.x.store, s.w, s.x.State(), RollbackOptions{To: s.to})
			must(t, err)
			must(t, s.x.WithExclusiveLock(ctx, func() error { return beginRollback(ctx, s.x, s.w, plan, RollbackOptions{}) }))
			c.since(s)
			f, err := planFinish(ctx, s.x.store, s.w, s.x.State())
			must(t, err)
			_, head, err := s.w.Git().Head(ctx)
			must(t, err)
			_, err = FinishRollback(ctx, s.x, s.w)
			var moved *HeadMovedError
			if refused := errors.As(err, &moved); refused != c.moved || !refused && err != nil || (f.Moved != nil) != c.moved {
				t.Fatalf("finished: %v, planned: %v", err, f.Moved)
			}
			if !c.moved {
				return
			}
			if _, now, err := s.w.Git().Head(ctx); err != nil || now != head || len(moved.Since) != c.made {
				t.Errorf("HEAD is %s instead of %s, %v; %v", now, head, err, moved)
			}
		})
	}
}

// commit commits, as somebody does.
func (s *scoped) commit(subject string) {
	s.t.Helper()
	s.git("-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "--quiet", "--allow-empty", "--message", subject)
}
