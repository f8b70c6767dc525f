package watch

import (
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// journalOf folds commits, one second apart.
func journalOf(t *testing.T, commits ...[]state.Event) *runs {
	t.Helper()
	r := newRuns()
	for i, events := range commits {
		at := time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		if err := r.commit(state.Commit{Seq: uint64(i + 1), Time: at, Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func started() []state.Event {
	return []state.Event{state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: "s-1", PRD: "PRD-001", Title: "Things", Shape: state.Shape{Phases: []state.PhaseShape{
			{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "a"}, {Name: "b"}}},
		}},
	}}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	failure := state.Failure{Workstream: "b", Message: "exit code 1"}
	r := journalOf(t,
		started(),
		[]state.Event{state.PhaseStarted{Phase: "one"}, state.WorkstreamStarted{Workstream: "a", Attempt: 1}, state.WorkstreamStarted{Workstream: "b", Attempt: 1}},
		[]state.Event{state.WorkstreamCompleted{Workstream: "a", Work: &state.Work{Attempt: 1}}},
		[]state.Event{state.WorkstreamFailed{Workstream: "b", Error: failure}},
		[]state.Event{state.SessionFailed{Error: failure, RanMS: 3500}},
		[]state.Event{state.PauseAsked{}},
		[]state.Event{state.SessionResumed{}, state.WorkstreamInvalidated{Workstream: "b"}},
		[]state.Event{state.WorkstreamStarted{Workstream: "b", Attempt: 2}},
	)
	if len(r.all) != 2 {
		t.Fatalf("%d runs, want 2", len(r.all))
	}
	first, second := r.all[0], r.all[1]
	if len(first.commits) != 6 || len(second.commits) != 2 {
		t.Errorf("the runs have %d and %d commits, want 6 and 2", len(first.commits), len(second.commits))
	}
	if e := first.ending(first.ended); e.Status != state.StatusFailed || e.Duration != 3500*time.Millisecond || len(e.Failed) != 1 {
		t.Errorf("the first run ended %+v", e)
	}
	if second.over || second.number != 2 {
		t.Errorf("the second run has number %d, over: %t", second.number, second.over)
	}
	if e := second.ending(r.state()); e.Status != state.StatusInProgress || e.Duration != time.Second || len(e.Failed) != 0 {
		t.Errorf("the second run stands at %+v", e)
	}
	var decisions []plan.Decision
	for _, s := range second.shown.Plan.Phases[0].Steps {
		decisions = append(decisions, s.Decision)
	}
	if len(decisions) != 2 || decisions[0] != plan.Reuse || decisions[1] != plan.Run {
		t.Errorf("the second run begins with %v, want reuse and run", decisions)
	}
}

// TestDurationNotOnRecord: a run whose end does not say how long it took lasted until its end, also if an answer or a
// request came later.
func TestDurationNotOnRecord(t *testing.T) {
	t.Parallel()
	r := journalOf(t,
		started(),
		[]state.Event{state.PhaseStarted{Phase: "one"}},
		[]state.Event{state.SessionInterrupted{}},
		[]state.Event{state.PauseAsked{}},
		[]state.Event{state.PauseAsked{}},
	)
	if e := r.last().ending(r.state()); e.Duration != 2*time.Second {
		t.Errorf("it took %s, want 2s", e.Duration)
	}
}

// TestFailuresThatPassed leaves out of the end of a run what failed and passed later in it.
func TestFailuresThatPassed(t *testing.T) {
	t.Parallel()
	st := &state.State{Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{
		{Name: "a", Status: state.Completed, Gates: []*state.Gate{{Label: "lint (a)", Status: state.Passed}}},
		{Name: "b", Status: state.Failed, Gates: []*state.Gate{{Label: "lint (b)", Status: state.Failed}}},
		{Name: "c", Status: state.Failed, Allowed: true},
	}}}}
	for _, tt := range []struct {
		failure state.Failure
		want    bool
	}{
		{state.Failure{Workstream: "a"}, true},
		{state.Failure{Workstream: "a", Gate: "lint (a)"}, true},
		{state.Failure{Workstream: "b"}, false},
		{state.Failure{Workstream: "b", Gate: "lint (b)"}, false},
		{state.Failure{Workstream: "c"}, true},
		{state.Failure{Message: "the review forbids it"}, false},
	} {
		if got := hasPassed(st, tt.failure); got != tt.want {
			t.Errorf("hasPassed(%+v) = %t, want %t", tt.failure, got, tt.want)
		}
	}
}

// TestHowRunsWork: each run has its own settings and values on record, and a gate that has passed is left alone.
func TestHowRunsWork(t *testing.T) {
	t.Parallel()
	begins := started()
	first := begins[0].(state.SessionStarted)
	first.Settings, first.Variables = &state.RunSettings{Parallel: 3, PauseAtGates: true}, map[string]string{"who": `"me"`}
	first.Shape.Phases[0].Gates = []string{"sign", "vet"}
	r := journalOf(t,
		[]state.Event{first},
		[]state.Event{state.PhaseStarted{Phase: "one"}, state.GateStarted{Gate: "vet (one)", Attempt: 1}, state.GatePassed{Verdict: state.Verdict{Gate: "vet (one)"}}},
		[]state.Event{state.SessionPaused{}},
		[]state.Event{state.SessionResumed{Settings: &state.RunSettings{Parallel: 5, KeepGoing: true}}},
	)
	one, two := r.all[0], r.all[1]
	if b := one.shown; b.Parallel != 3 || b.KeepGoing || !b.PauseAtGates || one.given["who"] != `"me"` {
		t.Errorf("the first run has %+v with %v", b, one.given)
	}
	if b := two.shown; b.Parallel != 5 || !b.KeepGoing || b.PauseAtGates || len(two.given) != 0 {
		t.Errorf("the second run has %+v with %v", b, two.given)
	}
	decisions := map[string]plan.Decision{}
	for _, s := range two.shown.Plan.Phases[0].Steps {
		decisions[s.Name] = s.Decision
	}
	if decisions["sign (one)"] != plan.Run || decisions["vet (one)"] != plan.Reuse {
		t.Errorf("the second run begins with %v", decisions)
	}
}
