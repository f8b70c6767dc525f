package checkpoint

import (
	"maps"
	"slices"
	"testing"
)

// TestIrreplaceable: what may be the only copy of files is that until somebody
// went back to it with all of them.
func TestIrreplaceable(t *testing.T) {
	t.Parallel()
	back := func(to, safety string, scope RollbackScope) RollbackRecord {
		return RollbackRecord{ID: "to " + to, To: to, Safety: safety, Scope: scope}
	}
	failed := back("start", "safety", RollbackAll)
	failed.Error = "no room"
	partly := back("edits", "safety", RollbackFiles)
	partly.Skipped = []Text{"out/a"}
	for name, c := range map[string]struct {
		rollbacks []RollbackRecord
		want      []string
	}{
		"no rollback":               {nil, []string{"edits", "import"}},
		"one that stands":           {[]RollbackRecord{back("start", "safety", RollbackAll)}, []string{"edits", "import", "safety"}},
		"one that failed":           {[]RollbackRecord{failed}, []string{"edits", "import"}},
		"one that is undone":        {[]RollbackRecord{back("start", "safety", RollbackAll), back("safety", "again", RollbackAll)}, []string{"again", "edits", "import"}},
		"the edits are back":        {[]RollbackRecord{back("edits", "safety", RollbackFiles)}, []string{"import", "safety"}},
		"the edits are back partly": {[]RollbackRecord{partly}, []string{"edits", "import", "safety"}},
		"the state alone is back":   {[]RollbackRecord{back("edits", "safety", RollbackState)}, []string{"edits", "import", "safety"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &State{Rollbacks: c.rollbacks, Checkpoints: []*CheckpointRef{
				{ID: "start", Trigger: TriggerStart, Valid: true}, {ID: "edits", Trigger: TriggerConflictStart, Valid: true},
				{ID: "import", Trigger: TriggerPreRollback, Valid: true}, {ID: "resolved", Trigger: TriggerConflictResolved, Valid: true},
			}}
			for _, r := range c.rollbacks {
				s.Checkpoints = append(s.Checkpoints, &CheckpointRef{ID: r.Safety, Trigger: TriggerPreRollback, Valid: true})
			}
			if got := slices.Sorted(maps.Keys(s.irreplaceable())); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
