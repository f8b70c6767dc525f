package rollback

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// secret is a detector that finds the word "hunter22".
type secret struct{ seen bytes.Buffer }

func (s *secret) Write(p []byte) (int, error) { return s.seen.Write(p) }
func (s *secret) Found() bool                 { return bytes.Contains(s.seen.Bytes(), []byte("hunter22")) }

// TestFinishRollbackLeavesRefused begins a rollback while a detector keeps a file with a
// secret out of captures. Finishing the rollback without that detector must not delete
// the file.
func TestFinishRollbackLeavesRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"other": "first"})
	s.Put(map[string]string{"other": "second", "notes": "it is hunter22"})
	s.Workspace.Refuse(func() workspace.Detector { return &secret{} })
	checkpointtest.Must(t, s.Session.WithExclusiveLock(ctx, func() error {
		plan, err := planTo(ctx, s.Session.Store(), s.Workspace, s.Session.State(), Options{To: s.Target})
		checkpointtest.Must(t, err)
		if len(plan.Changes) != 1 || plan.Changes[0].Path != "other" || !slices.Equal(plan.LeftOut, []string{"notes"}) {
			t.Errorf("the plan changes %+v, and leaves out %q", plan.Changes, plan.LeftOut)
		}
		return begin(ctx, s.Session, s.Workspace, plan, Options{})
	}))
	g, err := git.Open(ctx, gittest.Commander{}, s.Root)
	checkpointtest.Must(t, err)
	later, err := s.Open().OpenWorkspace(s.Root, g, workspace.GitRef)
	checkpointtest.Must(t, err)
	_, err = Finish(ctx, s.Session, later)
	checkpointtest.Must(t, err)
	s.Holds("finished", map[string]string{"other": "first", "notes": "it is hunter22"})
	// A new capture without the detector must leave the file out, too, although none
	// of the captures that led to this state did.
	_, err = s.Session.Create(ctx, later, "")
	checkpointtest.Must(t, err)
	l, err := later.Load(ctx, s.Session.State().Capture.Listing)
	checkpointtest.Must(t, err)
	if len(l.LeftOut) != 1 || len(l.Entries) != 1 {
		t.Errorf("captured %+v, left out %q", l.Entries, l.LeftOut)
	}
	checkpointtest.Must(t, later.Close())
}
