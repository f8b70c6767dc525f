package prune_test

import (
	"path"
	"slices"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
)

// TestCollectRemovesRefs: Collect must remove the git references of this state directory
// that no capture needs, and leave the others. Once the session is deleted, it must remove
// the reference of the session's capture, too. Planning must list the same references and
// remove none.
func TestCollectRemovesRefs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := checkpointtest.NewGitProject(t, map[string]string{"user.txt": "first"})
	needed := p.Session.State().Capture.Ref
	unneeded, ofAnother := path.Dir(needed)+"/99", path.Dir(needed)[:len(path.Dir(needed))-8]+"00000000/99"
	p.Git("update-ref", unneeded, needed)
	p.Git("update-ref", ofAnother, needed)
	checkpointtest.Must(t, p.Session.Close())
	left := func() []string {
		all, err := p.Workspace.Repository().Refs(ctx, "refs/runner")
		checkpointtest.Must(t, err)
		var names []string
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	all := left()
	if got, err := prune.Collect(ctx, p.Open(), nil); err != nil || len(got.Refs) > 0 || !slices.Equal(left(), all) {
		t.Errorf("a collection without git removed references: %v (%v)", got.Refs, err)
	}
	for _, step := range []struct {
		name         string
		do           func(s *checkpoint.Store) error
		removed, are []string
	}{
		{"while the session exists", func(*checkpoint.Store) error { return nil }, []string{unneeded}, []string{ofAnother, needed}},
		{"again", func(*checkpoint.Store) error { return nil }, nil, []string{ofAnother, needed}},
		{"after the session was deleted", func(s *checkpoint.Store) error { return s.DeleteSession(ctx, "PRD-009", checkpointtest.By) }, []string{needed}, []string{ofAnother}},
	} {
		checkpointtest.Must(t, step.do(p.Open()))
		before := left()
		planned, err := prune.PlanCollect(ctx, p.Open(), p.Workspace)
		checkpointtest.Must(t, err)
		if !slices.Equal(planned.Refs, step.removed) || !slices.Equal(left(), before) {
			t.Errorf("%s: the plan lists %q, want %q; %q are left", step.name, planned.Refs, step.removed, left())
		}
		done, err := prune.Collect(ctx, p.Open(), p.Workspace)
		checkpointtest.Must(t, err)
		if !slices.Equal(done.Refs, step.removed) || !slices.Equal(left(), step.are) {
			t.Errorf("%s: removed %q, want %q; left %q, want %q", step.name, done.Refs, step.removed, left(), step.are)
		}
	}
}
