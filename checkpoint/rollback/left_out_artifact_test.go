package rollback

import (
	"context"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// TestLeftOutArtifact records a sensitive artifact whose bytes are not kept. The
// checkpoint must be whole, and a rollback must neither restore the artifact nor report a
// missing file.
func TestLeftOutArtifact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := checkpointtest.On(t, store.NewMemory(), "/state/.runner")
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 1)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	w, err := f.Open().OpenWorkspace(t.TempDir(), nil, workspace.GitOff)
	checkpointtest.Must(t, err)
	kept := checkpointtest.Put(t, x.Store(), "out.txt", "kept")
	secret := state.Artifact{Path: "gen/tls.key", Size: 3, Mode: 0o600, Digest: "sha256:" + strings.Repeat("a", 64), LeftOut: true}
	checkpointtest.Produce(t, x, "w0", kept, secret)
	id := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())

	v, err := validate.Run(ctx, f.Open(), w, validate.Options{PRD: "PRD-009"})
	checkpointtest.Must(t, err)
	if len(v.Sessions) != 1 || len(v.Sessions[0].Checkpoints) == 0 {
		t.Fatalf("nothing was validated: %+v", v)
	}
	for _, c := range v.Sessions[0].Checkpoints {
		if !c.Whole() {
			t.Errorf("checkpoint %s: %v", c.Ref.ID, c.Problems)
		}
	}
	plan, err := PlanTo(ctx, f.Open(), w, "PRD-009", Options{To: id})
	checkpointtest.Must(t, err)
	if len(plan.Missing) > 0 || len(plan.Changes) != 1 || plan.Changes[0].Path != "out.txt" {
		t.Fatalf("missing %v, changes %v", plan.Missing, plan.Changes)
	}
	checkpointtest.Must(t, w.Close())
}
