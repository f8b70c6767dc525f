package checkpoint

import (
	"context"
	"testing"

	"prdrunner/checkpoint/state"
)

// manual makes a checkpoint and returns its id.
func manual(t *testing.T, x *Session) string {
	t.Helper()
	ref, err := x.Create(context.Background(), nil, "")
	must(t, err)
	return ref.ID
}

// back rolls the state back, and returns what undoes it.
func back(t *testing.T, x *Session, to string) (undo string) {
	t.Helper()
	done, err := RunRollback(context.Background(), x, nil, RollbackOptions{To: to, Scope: state.RollbackState})
	must(t, err)
	return done.Safety
}

// TestUndoneRollbacksGiveBackWhatWasValid goes back, back again, and then
// undoes rollbacks in an order other than the reverse: each time exactly those
// checkpoints are valid that were so before the rollback that is undone.
func TestUndoneRollbacksGiveBackWhatWasValid(t *testing.T) {
	t.Parallel()
	x := inMemory(t).run()
	defer func() { must(t, x.Close()) }()
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
		same(t, when, got, want)
	}
	first := back(t, x, b)
	wantValid("gone back to b", a, b)
	second := back(t, x, a)
	wantValid("gone back to a", a)
	d := manual(t, x)
	third := back(t, x, first)
	wantValid("both undone at once", a, b, c)
	back(t, x, third)
	wantValid("that undone", a, d)
	back(t, x, second)
	wantValid("the second undone", a, b)
}

// TestOnceStepsThroughRollbacks goes back before a once step that ran, however
// often: it stays uncertain. Undone, it is known again how it ended.
func TestOnceStepsThroughRollbacks(t *testing.T) {
	t.Parallel()
	shape := cashier()
	shape.Phases[0].Workstreams[0].Once = true
	x := inMemory(t).lock()
	defer func() { must(t, x.Close()) }()
	must(t, x.Start(started("S1", shape)))
	commit(t, x, state.PhaseStarted{Phase: "phase-1"})
	before := manual(t, x)
	commit(t, x, work("WS1", "schema-validation")...)
	wantStatus := func(when string, want state.StepStatus) {
		t.Helper()
		if got := x.State().Workstream("WS1").Status; got != want {
			t.Fatalf("%s: it is %s, want %s", when, got, want)
		}
	}
	undo := back(t, x, before)
	wantStatus("gone back before it", state.Uncertain)
	back(t, x, before)
	wantStatus("gone back once more", state.Uncertain)
	back(t, x, undo)
	wantStatus("undone", state.Completed)
}

// TestRollbackRemembersOnceStepsThatThePipelineDidNotHave: nor is a once step
// forgotten by going back to before the pipeline had it, or to when it was gone.
func TestRollbackRemembersOnceStepsThatThePipelineDidNotHave(t *testing.T) {
	t.Parallel()
	without, with := cashier(), cashier()
	without.Phases = without.Phases[1:]
	with.Phases[0].Workstreams[0].Once = true
	f := inMemory(t)
	x := f.lock()
	must(t, x.Start(started("S1", without)))
	before := manual(t, x)
	commit(t, x, state.SessionResumed{Shape: &with})
	commit(t, x, work("WS1", "schema-validation")...)
	commit(t, x, state.SessionResumed{Shape: &without})
	gone := manual(t, x)
	commit(t, x, state.SessionResumed{Shape: &with})
	commit(t, x, state.WorkstreamInvalidated{Workstream: "WS1"}, state.WorkstreamStarted{Workstream: "WS1", Attempt: 2})
	for when, to := range map[string]string{"before it was there": before, "while it was gone": gone} {
		undo := back(t, x, to)
		commit(t, x, state.SessionResumed{Shape: &with})
		must(t, x.Close())
		x = f.lock()
		if w := x.State().Workstream("WS1"); w.Status != state.Uncertain || w.Attempts != 2 || w.Phase() == nil {
			t.Errorf("%s: it is %s after %d attempts, in %v", when, w.Status, w.Attempts, w.Phase())
		}
		back(t, x, undo)
	}
	must(t, x.Close())
}
