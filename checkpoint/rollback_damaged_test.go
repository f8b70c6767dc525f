package checkpoint

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestRollbackNamesOthers: a step whose checkpoint is damaged does not mean another
// one of the same moment, which is named.
func TestRollbackNamesOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	s := p.open()
	w, x := p.workspace(s), lockPRD(t, s, "PRD-009")
	commit(t, x, state.SessionResumed{})
	produce(t, x, x.State().Phases[0].Workstreams[1].Name)
	first, other := p.capture(x, w, state.TriggerWorkstreamComplete), p.capture(x, w, state.TriggerManual)
	must(t, MarkDamaged(ctx, x, first, "it was flipped"))
	step := strconv.Itoa(x.State().CurrentStep())
	_, err := PlanRollback(ctx, s, w, "PRD-009", RollbackOptions{To: step})
	var damaged *state.DamagedError
	if !errors.As(err, &damaged) || damaged.Checkpoint != first || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v, want it to name %s", err, other)
	}
	must(t, x.Close())
}
