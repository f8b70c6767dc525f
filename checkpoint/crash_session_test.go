package checkpoint_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// live takes a session through a boundary of each kind. It calls acked after each
// acknowledged commit.
func live(t testing.TB, x *checkpoint.Session, acked func()) {
	boundary := func(trigger state.Trigger, all ...state.Event) {
		x.Add(all...)
		if trigger != "" {
			x.Checkpoint(trigger, "", nil)
		}
		checkpointtest.Commit(t, x)
		acked()
		checkpointtest.Must(t, x.WriteDerived(context.Background()))
	}
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", state.Shape{Phases: checkpointtest.Cashier().Phases[:1]})))
	acked()
	boundary(state.TriggerStart)
	boundary("", state.PhaseStarted{Phase: "phase-1"})
	boundary(state.TriggerFailure, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1},
		state.WorkstreamFailed{Workstream: "WS1", Error: state.Failure{Message: "no"}})
	boundary(state.TriggerPause, state.PauseAsked{By: checkpointtest.By}, state.SessionPaused{Reason: state.PauseRequested})
	boundary("", state.SessionResumed{Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, By: checkpointtest.By, Version: "test"})
	done := state.Work{Attempt: 2, Digest: state.Digest{Definition: "sha256:d"}, Artifacts: []state.Artifact{
		checkpointtest.Put(t, x.Store(), "a.sql", "create table a"), checkpointtest.Put(t, x.Store(), "b.sql", "create table b"),
	}}
	boundary(state.TriggerWorkstreamComplete, state.WorkstreamStarted{Workstream: "WS1", Attempt: 2}, state.WorkstreamSucceeded{Workstream: "WS1", Work: done})
	verdict := state.Verdict{Gate: "schema-validation (WS1)", Definition: "sha256:g", Judged: "sha256:j"}
	boundary(state.TriggerGatePassed, state.GateStarted{Gate: verdict.Gate}, state.GatePassed{Verdict: verdict}, state.WorkstreamCompleted{Workstream: "WS1"})
	boundary(state.TriggerComplete, state.PhaseCompleted{Phase: "phase-1"}, state.SessionCompleted{})
	checkpointtest.Must(t, x.Close())
}

// TestPowerCutAtEveryBoundary cuts the power at every moment of a session with a boundary
// of each kind. The state must be that of the last acknowledged boundary or the next one,
// with all that the state names, and the session must be able to continue.
func TestPowerCutAtEveryBoundary(t *testing.T) {
	t.Parallel()
	var acked atomic.Uint64
	m := store.NewMemory()
	c := faults.WatchCuts(t, m, func() any { return acked.Load() })
	f := checkpointtest.On(t, c.Watched(), "/ws/.runner")
	x := f.Lock()
	live(t, x, func() { acked.Store(x.Durable()) })
	known := boundaries{}
	known.add(t, f.Open(), "PRD-009")
	for _, cut := range c.End() {
		g := checkpointtest.On(t, cut.Memory, f.Dir)
		st := known.recovered(t, cut.When, g)
		sound(g, cut.When)
		var seq uint64
		if st != nil {
			seq = st.Seq
		}
		if done := cut.Acked.(uint64); seq < done || seq > done+1 {
			t.Fatalf("%s: boundary %d was acknowledged, but the state is at %d", cut.When, done, seq)
		}
		continues(g, cut.When)
	}
}

// continues adds a checkpoint to the session, which it starts if there is none, and
// checks that the checkpoint is readable.
func continues(f *checkpointtest.Fixture, when string) {
	t := f.T
	t.Helper()
	x := f.Lock()
	if x.State() == nil {
		checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Cashier())))
	}
	id, made := x.Checkpoint(state.TriggerManual, "", nil)
	if !made {
		t.Fatalf("%s: no checkpoint", when)
	}
	checkpointtest.Commit(t, x)
	want := x.State().Clone()
	checkpointtest.Must(t, x.Close())
	snap, err := f.Open().Load("PRD-009")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	checkpointtest.Same(t, when, snap.State, want)
	if err := snap.Document.Matches(want); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if f.Read(f.CheckpointFile(id)) == nil {
		t.Fatalf("%s: checkpoint %s has no file", when, id)
	}
	sound(f, fmt.Sprintf("%s, continued", when))
}
