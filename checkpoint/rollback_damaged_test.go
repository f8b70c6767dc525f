package checkpoint

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint/store"
)

// TestRollbackNamesOthers: a step whose newest checkpoint is damaged does not mean
// another one, which is named.
func TestRollbackNamesOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	s := p.open()
	w, x := p.workspace(s), lockPRD(t, s, "PRD-009")
	other, newest := p.capture(x, w, TriggerManual), p.capture(x, w, TriggerManual)
	must(t, x.MarkDamaged(ctx, newest, "it was flipped"))
	step := strconv.Itoa(x.State().Steps)
	_, err := s.PlanRollback(ctx, w, "PRD-009", RollbackOptions{To: step})
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Checkpoint != newest || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v, want it to name %s", err, other)
	}
	must(t, x.Close())
}
