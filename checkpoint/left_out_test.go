package checkpoint

import (
	"context"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TestLeftOutArtifact records a sensitive artifact whose bytes were not kept:
// its checkpoints are whole, and a rollback neither restores nor misses it.
func TestLeftOutArtifact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := on(t, store.NewMemory(), "/state/.runner")
	x := f.lock()
	must(t, x.Start(startedOf("PRD-009", "S1", 1)))
	commit(t, x, state.PhaseStarted{Phase: "all"})
	w, err := f.open().OpenWorkspace(t.TempDir(), nil, workspace.GitOff)
	must(t, err)
	kept := put(t, x.store, "out.txt", "kept")
	secret := state.Artifact{Path: "gen/tls.key", Size: 3, Mode: 0o600, Digest: "sha256:" + strings.Repeat("a", 64), LeftOut: true}
	produce(t, x, "w0", kept, secret)
	id := mark(t, x, state.TriggerManual)
	must(t, x.Close())

	v, err := Validate(ctx, f.open(), w, ValidateOptions{PRD: "PRD-009"})
	must(t, err)
	if len(v.Sessions) != 1 || len(v.Sessions[0].Checkpoints) == 0 {
		t.Fatalf("nothing was validated: %+v", v)
	}
	for _, c := range v.Sessions[0].Checkpoints {
		if !c.Whole() {
			t.Errorf("checkpoint %s: %v", c.Ref.ID, c.Problems)
		}
	}
	plan, err := PlanRollback(ctx, f.open(), w, "PRD-009", RollbackOptions{To: id})
	must(t, err)
	if len(plan.Missing) > 0 || len(plan.Changes) != 1 || plan.Changes[0].Path != "out.txt" {
		t.Fatalf("missing %v, changes %v", plan.Missing, plan.Changes)
	}
	must(t, w.Close())
}
