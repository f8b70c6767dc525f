package checkpoint

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
)

// TestAStepIsTheMomentWhenItCompleted: a number leads to the checkpoint of that
// moment, not to one of the failure that came after it.
func TestAStepIsTheMomentWhenItCompleted(t *testing.T) {
	t.Parallel()
	x := inMemory(t).lock()
	must(t, x.Start(started("S1", cashier())))
	begun := mark(t, x, state.TriggerStart)
	commit(t, x, work("WS1", "schema-validation", "a.sql")...)
	first := mark(t, x, state.TriggerWorkstreamComplete)
	mark(t, x, state.TriggerGatePassed) // of the same moment
	commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1}, state.WorkstreamFailed{Workstream: "WS2", Error: state.Failure{Message: "no"}})
	failed := mark(t, x, state.TriggerFailure)
	leads := func(step int, want string) {
		t.Helper()
		ref, err := x.State().FindCheckpoint(strconv.Itoa(step))
		if err != nil || ref.ID != want {
			t.Errorf("%d leads to %+v, %v", step, ref, err)
		}
	}
	leads(0, begun)
	leads(1, first)
	commit(t, x, work("WS1", "schema-validation", "a.sql")...) // it runs again
	again := mark(t, x, state.TriggerWorkstreamComplete)
	leads(1, again)
	if w := x.State().Workstream("WS1"); w.Step != 1 || x.State().Steps != 1 {
		t.Errorf("%d steps, WS1 is step %d", x.State().Steps, w.Step)
	}
	commit(t, x, work("WS2", "type-check", "c.ts")...)
	commit(t, x, state.WorkstreamInvalidated{Workstream: "WS2"})
	later := mark(t, x, state.TriggerManual)
	_, err := x.State().FindCheckpoint("2")
	if !errors.Is(err, state.ErrNoCheckpoint) || !strings.Contains(err.Error(), "there are some of 0, 1; "+later+" (manual)") {
		t.Errorf("step 2: %v", err)
	}
	if name := x.State().Names()[failed]; !strings.HasPrefix(name, "latest~") {
		t.Errorf("the failure is named %s", name)
	}
	must(t, x.Close())
}

// TestAStepThatASessionBeganWithHasNoNumber: what a complete session has done is
// no step of the one that begins from it.
func TestAStepThatASessionBeganWithHasNoNumber(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	e := started("S2", cashier())
	e.From = x.State().CarryOver()
	must(t, x.Start(e))
	begun := mark(t, x, state.TriggerStart)
	s := x.State()
	if ref, err := s.FindCheckpoint("0"); err != nil || ref.ID != begun || ref.StepName != "" || ref.Created > 0 || s.Steps > 0 {
		t.Errorf("the start is %+v, %v, of %d steps", ref, err, s.Steps)
	}
	commit(t, x, work("WS2", "type-check", "c.ts")...)
	mark(t, x, state.TriggerWorkstreamComplete)
	if ref, err := s.FindCheckpoint("1"); err != nil || ref.StepName != "WS2" || s.Workstream("WS1").Step > 0 {
		t.Errorf("step 1 is %+v, %v", ref, err)
	}
	must(t, x.Close())
}
