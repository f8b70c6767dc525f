package prune_test

import (
	"maps"
	"slices"
	"testing"

	"prdrunner/checkpoint/state"
)

// TestIrreplaceable: a checkpoint that may hold the only copy of edited files must be
// irreplaceable until a rollback has restored all of them.
func TestIrreplaceable(t *testing.T) {
	t.Parallel()
	back := func(to, safety string, scope state.RollbackScope) state.RollbackRecord {
		return state.RollbackRecord{ID: "to " + to, To: to, Safety: safety, Scope: scope}
	}
	failed := back("start", "safety", state.RollbackAll)
	failed.Error = "no room"
	partly := back("edits", "safety", state.RollbackFiles)
	partly.Skipped = []state.Text{"out/a"}
	for name, c := range map[string]struct {
		rollbacks []state.RollbackRecord
		want      []string
	}{
		"no rollback":               {nil, []string{"edits", "import"}},
		"one that stands":           {[]state.RollbackRecord{back("start", "safety", state.RollbackAll)}, []string{"edits", "import", "safety"}},
		"one that failed":           {[]state.RollbackRecord{failed}, []string{"edits", "import"}},
		"one that is undone":        {[]state.RollbackRecord{back("start", "safety", state.RollbackAll), back("safety", "again", state.RollbackAll)}, []string{"again", "edits", "import"}},
		"the edits are back":        {[]state.RollbackRecord{back("edits", "safety", state.RollbackFiles)}, []string{"import", "safety"}},
		"the edits are back partly": {[]state.RollbackRecord{partly}, []string{"edits", "import", "safety"}},
		"the state alone is back":   {[]state.RollbackRecord{back("edits", "safety", state.RollbackState)}, []string{"edits", "import", "safety"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &state.State{Rollbacks: c.rollbacks, Checkpoints: []*state.CheckpointRef{
				{ID: "start", Trigger: state.TriggerStart, Valid: true}, {ID: "edits", Trigger: state.TriggerConflictStart, Valid: true},
				{ID: "import", Trigger: state.TriggerPreRollback, Valid: true}, {ID: "resolved", Trigger: state.TriggerConflictResolved, Valid: true},
			}}
			for _, r := range c.rollbacks {
				s.Checkpoints = append(s.Checkpoints, &state.CheckpointRef{ID: r.Safety, Trigger: state.TriggerPreRollback, Valid: true})
			}
			if got := slices.Sorted(maps.Keys(s.Irreplaceable())); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
