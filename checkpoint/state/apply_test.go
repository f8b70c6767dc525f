package state_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestInvalidatedForgets: the invalidation of a workstream removes its metrics and the
// verdicts on it, so that these can't satisfy a later gate.
func TestInvalidatedForgets(t *testing.T) {
	t.Parallel()
	s := &state.State{}
	apply := func(e state.Event) {
		t.Helper()
		checkpointtest.Must(t, s.Apply(state.Commit{Seq: s.Seq + 1, Time: time.UnixMilli(int64(s.Seq)).UTC(), Events: []state.Event{e}}))
	}
	apply(checkpointtest.Started("S1", checkpointtest.Cashier()))
	apply(state.WorkstreamSucceeded{Workstream: "WS1", Work: state.Work{Attempt: 1, Metrics: map[string]any{"own": 1.0, "shared": 1.0}}})
	apply(state.GatePassed{Verdict: state.Verdict{Gate: "schema-validation (WS1)", Definition: "d", Judged: "j"}})
	apply(state.WorkstreamCompleted{Workstream: "WS1"})
	apply(state.WorkstreamCompleted{Workstream: "WS2", Work: &state.Work{Metrics: map[string]any{"shared": 2.0}}})
	apply(state.WorkstreamFailed{Workstream: "WS1", Error: state.Failure{Message: "no"}})
	apply(state.WorkstreamInvalidated{Workstream: "WS1", Reason: "asked for"})
	w, g := s.Workstream("WS1"), s.Gate("schema-validation (WS1)")
	if w.Status != state.Pending || w.Step != 1 || w.Error != nil || w.Reason != "asked for" {
		t.Errorf("workstream %+v", w)
	}
	if g.Status != state.Pending || g.Judged != "" || g.Definition != "" {
		t.Errorf("gate %+v", g)
	}
	if _, had := s.Metrics["own"]; had || s.Metrics["shared"].Value != 2.0 {
		t.Errorf("metrics %v", s.Metrics)
	}
}

// TestReshapeKeepsRecords: phases, workstreams and gates that keep their names keep their
// records. The number of the current phase becomes its present position.
func TestReshapeKeepsRecords(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Run()
	shape := checkpointtest.Cashier()
	shape.Phases = append([]state.PhaseShape{{Name: "new", Workstreams: []state.WorkstreamShape{{Name: "N"}}}}, shape.Phases[:2]...)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &shape})
	s := x.State()
	if s.CurrentPhase != 3 || s.PhaseName() != "phase-2" {
		t.Errorf("current phase %d, %s", s.CurrentPhase, s.PhaseName())
	}
	if s.Workstream("WS1").Status != state.Completed || s.Gate("schema-validation (WS1)").Status != state.Passed || s.Workstream("WS3") != nil {
		t.Error("records were not kept, or kept too long")
	}
	checkpointtest.Must(t, x.Close())
}

// TestCallsGoOn: a workstream keeps the id of its call as long as the call goes on, with the
// commit that began it.
func TestCallsGoOn(t *testing.T) {
	t.Parallel()
	s := &state.State{}
	apply := func(e state.Event) uint64 {
		t.Helper()
		checkpointtest.Must(t, s.Apply(state.Commit{Seq: s.Seq + 1, Time: time.UnixMilli(int64(s.Seq)).UTC(), Events: []state.Event{e}}))
		return s.Seq
	}
	is := func(call string, seq uint64) {
		t.Helper()
		if w := s.Workstream("WS1"); w.Call != call || w.CallSeq != seq {
			t.Errorf("the call is %q of commit %d, and should be %q of %d", w.Call, w.CallSeq, call, seq)
		}
	}
	apply(checkpointtest.Started("S1", checkpointtest.Cashier()))
	first := apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 1, Call: "a"})
	is("a", first)
	apply(state.WorkstreamInterrupted{Workstream: "WS1", Attempt: 1})
	apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 2, Call: "a"})
	apply(state.WorkstreamCompleted{Workstream: "WS1", Work: &state.Work{Attempt: 2}})
	is("a", first)
	apply(state.WorkstreamInvalidated{Workstream: "WS1", Reason: "it was edited", Call: "a"})
	is("a", first)
	apply(state.WorkstreamInvalidated{Workstream: "WS1", Reason: "it was rejected"})
	is("", 0)
	third := apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 3, Call: "b"})
	is("b", third)
	fourth := apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 4, Call: "c"})
	is("c", fourth)
	apply(state.WorkstreamCompleted{Workstream: "WS1", Work: &state.Work{Attempt: 4, Cached: &state.Cached{}}})
	is("", 0)
	apply(state.WorkstreamStarted{Workstream: "WS1", Attempt: 5, Call: "d"})
	apply(state.WorkstreamSkipped{Workstream: "WS1"})
	is("", 0)
}
