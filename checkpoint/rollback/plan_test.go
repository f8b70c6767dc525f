package rollback

import (
	"context"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestPlanOfAScope: a plan says what becomes of the state and of the files as far as the
// rollback touches them and the workspace is known.
func TestPlanOfAScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope        state.RollbackScope
		noWorkspace  bool
		state, files bool
	}{
		"all":                        {state: true, files: true},
		"the state":                  {scope: state.RollbackState, state: true},
		"the files":                  {scope: state.RollbackFiles, files: true},
		"all, without a workspace":   {noWorkspace: true, state: true},
		"state, without a workspace": {scope: state.RollbackState, noWorkspace: true, state: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			p.Continue("more")
			s := p.Open()
			w := p.Workspace(s)
			if c.noWorkspace {
				w = nil
			}
			plan, err := PlanTo(context.Background(), s, w, "PRD-009", Options{To: p.State().Checkpoints[0].ID, Scope: c.scope})
			checkpointtest.Must(t, err)
			if discards := len(plan.Discards) == 1 && plan.Discards[0].Name == "w0"; discards != c.state {
				t.Errorf("discards %v", plan.Discards)
			}
			if deletes := len(plan.Changes) == 2 && plan.Changes[0].Path == "gen/a.txt"; deletes != c.files {
				t.Errorf("changes %+v", plan.Changes)
			}
		})
	}
}
