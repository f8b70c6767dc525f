package state_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestAStepIsTheMomentWhenItCompleted: the number of a step finds the checkpoint of the
// moment at which the step completed, not that of a later failure.
func TestAStepIsTheMomentWhenItCompleted(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Cashier())))
	begun := checkpointtest.Mark(t, x, state.TriggerStart)
	checkpointtest.Commit(t, x, checkpointtest.Work("WS1", "schema-validation", "a.sql")...)
	first := checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete)
	checkpointtest.Mark(t, x, state.TriggerGatePassed) // of the same moment
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1}, state.WorkstreamFailed{Workstream: "WS2", Error: state.Failure{Message: "no"}})
	failed := checkpointtest.Mark(t, x, state.TriggerFailure)
	leads := func(step int, want string) {
		t.Helper()
		ref, err := x.State().FindCheckpoint(strconv.Itoa(step))
		if err != nil || ref.ID != want {
			t.Errorf("the checkpoint of step %d is %+v, %v", step, ref, err)
		}
	}
	leads(0, begun)
	leads(1, first)
	checkpointtest.Commit(t, x, checkpointtest.Work("WS1", "schema-validation", "a.sql")...) // WS1 runs again
	again := checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete)
	leads(1, again)
	if w := x.State().Workstream("WS1"); w.Step != 1 || x.State().Steps != 1 {
		t.Errorf("%d steps, WS1 is step %d", x.State().Steps, w.Step)
	}
	checkpointtest.Commit(t, x, checkpointtest.Work("WS2", "type-check", "c.ts")...)
	checkpointtest.Commit(t, x, state.WorkstreamInvalidated{Workstream: "WS2"})
	later := checkpointtest.Mark(t, x, state.TriggerManual)
	_, err := x.State().FindCheckpoint("2")
	if !errors.Is(err, state.ErrNoCheckpoint) || !strings.Contains(err.Error(), "only of 0, 1; "+later+" (manual)") {
		t.Errorf("step 2: %v", err)
	}
	if name := x.State().Names()[failed]; !strings.HasPrefix(name, "latest~") {
		t.Errorf("the failure is named %s", name)
	}
	checkpointtest.Must(t, x.Close())
}

// TestAStepThatASessionBeganWithHasNoNumber: a workstream that a complete session has
// done is not a step of the session that begins from it.
func TestAStepThatASessionBeganWithHasNoNumber(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	e := checkpointtest.Started("S2", checkpointtest.Cashier())
	e.From = x.State().CarryOver()
	checkpointtest.Must(t, x.Start(e))
	begun := checkpointtest.Mark(t, x, state.TriggerStart)
	s := x.State()
	if ref, err := s.FindCheckpoint("0"); err != nil || ref.ID != begun || ref.StepName != "" || ref.Created > 0 || s.Steps > 0 {
		t.Errorf("the start is %+v, %v, of %d steps", ref, err, s.Steps)
	}
	checkpointtest.Commit(t, x, checkpointtest.Work("WS2", "type-check", "c.ts")...)
	checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete)
	if ref, err := s.FindCheckpoint("1"); err != nil || ref.StepName != "WS2" || s.Workstream("WS1").Step > 0 {
		t.Errorf("step 1 is %+v, %v", ref, err)
	}
	checkpointtest.Must(t, x.Close())
}
