package rollback

import (
	"context"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// manual makes a checkpoint and returns its id.
func manual(t *testing.T, x *checkpoint.Session) string {
	t.Helper()
	ref, err := x.Create(context.Background(), nil, "")
	checkpointtest.Must(t, err)
	return ref.ID
}

// back rolls the state back, and returns the checkpoint that undoes the rollback.
func back(t *testing.T, x *checkpoint.Session, to string) (undo string) {
	t.Helper()
	done, err := Run(context.Background(), x, nil, Options{To: to, Scope: state.RollbackState})
	checkpointtest.Must(t, err)
	return done.Safety
}

// TestUndoneRollbacksGiveBackWhatWasValid rolls back twice and undoes rollbacks in
// various orders. After each undo exactly those checkpoints must be valid that were valid
// before the undone rollback.
func TestUndoneRollbacksGiveBackWhatWasValid(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Run()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	a, b := manual(t, x), manual(t, x)
	c := manual(t, x)
	wantValid := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, ref := range x.State().Checkpoints {
			if ref.Trigger == state.TriggerManual && ref.Valid {
				got = append(got, ref.ID)
			}
		}
		checkpointtest.Same(t, when, got, want)
	}
	first := back(t, x, b)
	wantValid("rolled back to b", a, b)
	second := back(t, x, a)
	wantValid("rolled back to a", a)
	d := manual(t, x)
	third := back(t, x, first)
	wantValid("both rollbacks undone at once", a, b, c)
	back(t, x, third)
	wantValid("the undo undone", a, d)
	back(t, x, second)
	wantValid("the second rollback undone", a, b)
}

// TestOnceStepsThroughRollbacks rolls back, once and twice, to before a `once` workstream
// ran. The workstream must be uncertain, and completed again after an undo.
func TestOnceStepsThroughRollbacks(t *testing.T) {
	t.Parallel()
	shape := checkpointtest.Cashier()
	shape.Phases[0].Workstreams[0].Once = true
	x := checkpointtest.InMemory(t).Lock()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", shape)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "phase-1"})
	before := manual(t, x)
	checkpointtest.Commit(t, x, checkpointtest.Work("WS1", "schema-validation")...)
	wantStatus := func(when string, want state.StepStatus) {
		t.Helper()
		if got := x.State().Workstream("WS1").Status; got != want {
			t.Fatalf("%s: WS1 is %s, want %s", when, got, want)
		}
	}
	undo := back(t, x, before)
	wantStatus("rolled back to before WS1", state.Uncertain)
	back(t, x, before)
	wantStatus("rolled back once more", state.Uncertain)
	back(t, x, undo)
	wantStatus("undone", state.Completed)
}

// TestRollbackRemembersOnceStepsThatThePipelineDidNotHave rolls back to a pipeline that
// did not have a `once` workstream, which had run. When the pipeline has the workstream
// again, the workstream must be uncertain.
func TestRollbackRemembersOnceStepsThatThePipelineDidNotHave(t *testing.T) {
	t.Parallel()
	without, with := checkpointtest.Cashier(), checkpointtest.Cashier()
	without.Phases = without.Phases[1:]
	with.Phases[0].Workstreams[0].Once = true
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", without)))
	before := manual(t, x)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &with})
	checkpointtest.Commit(t, x, checkpointtest.Work("WS1", "schema-validation")...)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &without})
	gone := manual(t, x)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &with})
	checkpointtest.Commit(t, x, state.WorkstreamInvalidated{Workstream: "WS1"}, state.WorkstreamStarted{Workstream: "WS1", Attempt: 2})
	for when, to := range map[string]string{"before the pipeline had WS1": before, "while the pipeline did not have WS1": gone} {
		undo := back(t, x, to)
		checkpointtest.Commit(t, x, state.SessionResumed{Shape: &with})
		checkpointtest.Must(t, x.Close())
		x = f.Lock()
		if w := x.State().Workstream("WS1"); w.Status != state.Uncertain || w.Attempts != 2 || w.Phase() == nil {
			t.Errorf("%s: WS1 is %s after %d attempts, in %v", when, w.Status, w.Attempts, w.Phase())
		}
		back(t, x, undo)
	}
	checkpointtest.Must(t, x.Close())
}
