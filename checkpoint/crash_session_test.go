package checkpoint

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// live leads a session through a boundary of each kind, and says when one is
// acknowledged.
func live(t testing.TB, x *Session, acked func()) {
	boundary := func(trigger state.Trigger, all ...state.Event) {
		x.Add(all...)
		if trigger != "" {
			x.Checkpoint(trigger, "", nil)
		}
		commit(t, x)
		acked()
		must(t, x.WriteDerived(context.Background(), true))
	}
	must(t, x.Start(started("S1", state.Shape{Phases: cashier().Phases[:1]})))
	acked()
	boundary(state.TriggerStart)
	boundary("", state.PhaseStarted{Phase: "phase-1"})
	boundary(state.TriggerFailure, state.WorkstreamStarted{Workstream: "WS1", Attempt: 1},
		state.WorkstreamFailed{Workstream: "WS1", Error: state.Failure{Message: "no"}})
	boundary(state.TriggerPause, state.PauseAsked{By: by}, state.SessionPaused{Reason: state.PauseRequested})
	boundary("", state.SessionResumed{Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, By: by, Version: "test"})
	done := state.Work{Attempt: 2, Digest: state.Digest{Definition: "sha256:d"}, Artifacts: []state.Artifact{
		put(t, x.store, "a.sql", "create table a"), put(t, x.store, "b.sql", "create table b"),
	}}
	boundary(state.TriggerWorkstreamComplete, state.WorkstreamStarted{Workstream: "WS1", Attempt: 2}, state.WorkstreamSucceeded{Workstream: "WS1", Work: done})
	verdict := state.Verdict{Gate: "schema-validation (WS1)", Definition: "sha256:g", Judged: "sha256:j"}
	boundary(state.TriggerGatePassed, state.GateStarted{Gate: verdict.Gate}, state.GatePassed{Verdict: verdict}, state.WorkstreamCompleted{Workstream: "WS1"})
	boundary(state.TriggerComplete, state.PhaseCompleted{Phase: "phase-1"}, state.SessionCompleted{})
	must(t, x.Close())
}

// TestPowerCutAtEveryBoundary tries what a power cut could leave at every moment
// of a session with a boundary of each kind: the state is that of the boundary or
// the one before, the former if it was acknowledged, with all that it names; and
// the session can be gone on with.
func TestPowerCutAtEveryBoundary(t *testing.T) {
	t.Parallel()
	var acked atomic.Uint64
	m := store.NewMemory()
	c := faults.WatchCuts(t, m, func() any { return acked.Load() })
	f := on(t, c.Watched(), "/ws/.runner")
	x := f.lock()
	live(t, x, func() { acked.Store(x.Durable()) })
	known := boundaries{}
	known.add(t, f.open(), "PRD-009")
	for _, cut := range c.End() {
		g := on(t, cut.Memory, f.dir)
		st := known.recovered(t, cut.When, g)
		g.sound(cut.When)
		var seq uint64
		if st != nil {
			seq = st.Seq
		}
		if done := cut.Acked.(uint64); seq < done || seq > done+1 {
			t.Fatalf("%s: boundary %d was acknowledged, and it stands at %d", cut.When, done, seq)
		}
		g.goesOn(cut.When)
	}
}

// goesOn adds a boundary to what is there.
func (f *fixture) goesOn(when string) {
	t := f.t
	t.Helper()
	x := f.lock()
	if x.State() == nil {
		must(t, x.Start(started("S1", cashier())))
	}
	id, made := x.Checkpoint(state.TriggerManual, "", nil)
	if !made {
		t.Fatalf("%s: no checkpoint", when)
	}
	commit(t, x)
	want := x.State().Clone()
	must(t, x.Close())
	snap, err := f.open().Load("PRD-009")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	same(t, when, snap.State, want)
	if err := snap.Document.Matches(want); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if f.read(f.checkpointFile(id)) == nil {
		t.Fatalf("%s: checkpoint %s has no file", when, id)
	}
	f.sound(fmt.Sprintf("%s, gone on with", when))
}
