package validate_test

import (
	"context"
	"errors"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
)

// TestMarkDamaged: MarkDamaged must fail without a session or for an unknown checkpoint,
// and must not replace an earlier mark.
func TestMarkDamaged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	if err := validate.MarkDamaged(ctx, x, "CP-none", "no"); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("without a session: %v", err)
	}
	if _, err := validate.Mark(ctx, x, &validate.Validation{}); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("findings without a session: %v", err)
	}
	checkpointtest.Must(t, x.Close())
	ids := checkpointtest.Stopped(f)
	x = f.Lock()
	if err := validate.MarkDamaged(ctx, x, "CP-none", "no"); !errors.Is(err, state.ErrNoCheckpoint) {
		t.Errorf("without a checkpoint: %v", err)
	}
	checkpointtest.Must(t, validate.MarkDamaged(ctx, x, ids[1], "first"))
	checkpointtest.Must(t, validate.MarkDamaged(ctx, x, ids[1], "second"))
	if d := x.State().Checkpoint(ids[1]).Damage; d == nil || d.Reason != "first" {
		t.Errorf("marked as %+v", d)
	}
	checkpointtest.Must(t, x.Close())
	for _, deep := range []bool{false, true} { // only a deep validation trusts that a marked checkpoint is whole
		c := checkpointtest.Validated(f, validate.Options{Refs: ids[1:2], Deep: deep}).Sessions[0].Checkpoints[0]
		if c.Whole() != deep || len(c.Notes)+len(c.Problems) != 1 || !c.Mendable() {
			t.Errorf("deep %t: problems %q, notes %q", deep, c.Problems, c.Notes)
		}
	}
}
