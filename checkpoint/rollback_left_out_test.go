package checkpoint

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// secret finds a word that may not be kept.
type secret struct{ seen bytes.Buffer }

func (s *secret) Write(p []byte) (int, error) { return s.seen.Write(p) }
func (s *secret) Found() bool                 { return bytes.Contains(s.seen.Bytes(), []byte("hunter22")) }

// TestFinishRollbackLeavesRefused: a file that the checkpoint before a rollback
// left out, since it holds what may not be kept, is still there when somebody
// finishes the rollback who does not know of that.
func TestFinishRollbackLeavesRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScoped(t, map[string]string{"other": "first"})
	s.put(map[string]string{"other": "second", "notes": "it is hunter22"})
	s.w.Refuse(func() workspace.Detector { return &secret{} })
	must(t, s.x.WithExclusiveLock(ctx, func() error {
		plan, err := planRollback(ctx, s.x.store, s.w, s.x.State(), RollbackOptions{To: s.to})
		must(t, err)
		if len(plan.Changes) != 1 || plan.Changes[0].Path != "other" || !slices.Equal(plan.LeftOut, []string{"notes"}) {
			t.Errorf("the plan changes %+v, and leaves %q", plan.Changes, plan.LeftOut)
		}
		return beginRollback(ctx, s.x, s.w, plan, RollbackOptions{})
	}))
	g, err := git.Open(ctx, commander{}, s.ws)
	must(t, err)
	later, err := s.open().OpenWorkspace(s.ws, g, workspace.GitRef)
	must(t, err)
	_, err = FinishRollback(ctx, s.x, later)
	must(t, err)
	s.holds("finished", map[string]string{"other": "first", "notes": "it is hunter22"})
	// From now on no capture on the way to the state knows of it.
	_, err = s.x.Create(ctx, later, "")
	must(t, err)
	l, err := later.Load(ctx, s.x.State().Capture.Listing)
	must(t, err)
	if len(l.LeftOut) != 1 || len(l.Entries) != 1 {
		t.Errorf("captured %+v, left out %q", l.Entries, l.LeftOut)
	}
	must(t, later.Close())
}
