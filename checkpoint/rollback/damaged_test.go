package rollback

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// TestRollbackNamesOthers marks the checkpoint of a step as damaged. A plan for this step
// must fail instead of using another checkpoint of the same step, and the error must name
// that other checkpoint.
func TestRollbackNamesOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	w, x := p.Workspace(s), checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Commit(t, x, state.SessionResumed{})
	checkpointtest.Produce(t, x, x.State().Phases[0].Workstreams[1].Name)
	first, other := p.Capture(x, w, state.TriggerWorkstreamComplete), p.Capture(x, w, state.TriggerManual)
	checkpointtest.Must(t, validate.MarkDamaged(ctx, x, first, "it was flipped"))
	step := strconv.Itoa(x.State().CurrentStep())
	_, err := PlanTo(ctx, s, w, "PRD-009", Options{To: step})
	var damaged *state.DamagedError
	if !errors.As(err, &damaged) || damaged.Checkpoint != first || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v, want an error that names %s", err, other)
	}
	checkpointtest.Must(t, x.Close())
}
