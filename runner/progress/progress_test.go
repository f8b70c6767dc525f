package progress_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
)

// begin returns the progress of a run of two phases. The first has five workstreams, of which one
// is reused and one is skipped.
func begin() *progress.Progress {
	step := func(name string, d plan.Decision) plan.Step {
		return plan.Step{Kind: plan.WorkstreamStep, Name: name, Title: "the " + name, Decision: d}
	}
	return progress.New(runner.Beginning{Plan: &plan.Plan{Phases: []plan.Phase{
		{Name: "one", Number: 1, Steps: []plan.Step{
			step("a", plan.Run), step("b", plan.Rerun), step("c", plan.Depends), step("old", plan.Reuse), step("off", plan.Skipped),
			{Kind: plan.GateStep, Name: "lint (a)", Decision: plan.Run},
		}},
		{Name: "two", Number: 2, Steps: []plan.Step{step(`p["x"]`, plan.Run)}},
	}}})
}

func at(second int) time.Time { return time.Date(2025, 12, 11, 10, 0, second, 0, time.UTC) }

// TestProgress holds what the counts and the active steps are after events, one in each second.
func TestProgress(t *testing.T) {
	t.Parallel()
	start := func(name string) state.Event { return state.WorkstreamStarted{Workstream: name, Attempt: 1} }
	one, two := state.PhaseStarted{Phase: "one"}, state.PhaseStarted{Phase: "two"}
	for name, test := range map[string]struct {
		events []state.Event
		counts progress.Counts
		active []string // name, activity, attempt, since
	}{
		"nothing": {nil, progress.Counts{Total: 6, Reused: 1, Skipped: 1}, nil},
		"two run": {
			[]state.Event{one, start("b"), start("a")},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Running: 2}, []string{"b 0 1 1s", "a 0 1 2s"},
		},
		"one is tried again": {
			[]state.Event{one, start("a"), state.WorkstreamAttemptFailed{Workstream: "a", Attempt: 1, RetryInMS: 5000}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Waiting: 1}, []string{"a 2 2 2s until 7s"},
		},
		"one is judged": {
			[]state.Event{one, start("a"), state.WorkstreamSucceeded{Workstream: "a"}, state.GateStarted{Gate: "lint (a)", Attempt: 1}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Running: 1}, []string{"lint (a) 1 1 3s"},
		},
		"each end": {
			[]state.Event{
				one, start("a"), state.WorkstreamCompleted{Workstream: "a"}, start("b"), state.WorkstreamFailed{Workstream: "b"},
				state.WorkstreamCompleted{Workstream: "c", Work: &state.Work{Cached: &state.Cached{}}},
			},
			progress.Counts{Total: 6, Reused: 2, Skipped: 1, Done: 1, Failed: 1}, nil,
		},
		"one will run again": {
			[]state.Event{one, state.WorkstreamInvalidated{Workstream: "old"}, start("a"), state.WorkstreamInterrupted{Workstream: "a"}},
			progress.Counts{Total: 6, Skipped: 1}, nil,
		},
		"one is uncertain, and is resolved": {
			[]state.Event{one, start("a"), state.WorkstreamUncertain{Workstream: "a"}, state.WorkstreamResolved{Workstream: "a", Resolution: state.ResolvedDone}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Done: 1}, nil,
		},
		"an approval is open": {
			[]state.Event{one, state.GateAsked{Verdict: state.Verdict{Gate: "ship (one)"}}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1}, []string{"ship (one) 3 0 1s"},
		},
		"an approval is given": {
			[]state.Event{one, state.GateAsked{Verdict: state.Verdict{Gate: "ship (one)"}}, state.GateApproved{Verdict: state.Verdict{Gate: "ship (one)"}}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1}, nil,
		},
		"a phase has more instances": {
			[]state.Event{two, state.PhaseExpanded{Phase: "two", Shape: state.Shape{Phases: []state.PhaseShape{
				{Name: "one"}, {Name: "two", Workstreams: []state.WorkstreamShape{{Name: `p["y"]`}, {Name: `p["z"]`}}},
			}}}, start(`p["y"]`)},
			progress.Counts{Total: 7, Reused: 1, Skipped: 1, Running: 1}, []string{`p["y"] 0 1 2s`},
		},
		"the plan does not have it": {
			[]state.Event{one, start("new")}, progress.Counts{Total: 7, Reused: 1, Skipped: 1, Running: 1}, []string{"new 0 1 1s"},
		},
	} {
		p := begin()
		for i, e := range test.events {
			p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
		}
		if diff := cmp.Diff(test.counts, p.Counts()); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", name, diff)
		}
		var active []string
		for _, a := range p.Active() {
			s := fmt.Sprintf("%s %d %d %s", a.Name, a.Activity, a.Attempt, a.Since.Sub(at(0)))
			if !a.Until.IsZero() {
				s += " until " + a.Until.Sub(at(0)).String()
			}
			active = append(active, s)
		}
		if diff := cmp.Diff(test.active, active); diff != "" {
			t.Errorf("%s: active (-want +got):\n%s", name, diff)
		}
	}
}

// TestPhases: a phase is ahead, then underway, then passed or passed over.
func TestPhases(t *testing.T) {
	t.Parallel()
	p := begin()
	statuses := func() string { return fmt.Sprint(p.Phases()[0].Status, p.Phases()[1].Status, p.Current() != nil) }
	got := []string{statuses()}
	for i, e := range []state.Event{
		state.PhaseStarted{Phase: "one"}, state.PhaseRepeated{Phase: "one", Iteration: 2}, state.PhaseCompleted{Phase: "one", DurationMS: 2000},
		state.PhaseSkipped{Phase: "two"},
	} {
		p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
		got = append(got, statuses())
	}
	want := []string{"0 0 false", "1 0 true", "1 0 true", "2 0 false", "2 3 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if one := p.Phases()[0]; one.Iteration != 2 || !one.Began.Equal(at(0)) {
		t.Errorf("the first phase is %+v", one)
	}
}

// TestInstances: what goes on with an instance names the workstream of which it is one.
func TestInstances(t *testing.T) {
	t.Parallel()
	p := begin()
	p.Commit(state.Commit{Events: []state.Event{
		state.PhaseStarted{Phase: "two"}, state.WorkstreamStarted{Workstream: `p["x"]`, Attempt: 1}, state.WorkstreamStarted{Workstream: "a", Attempt: 1},
	}})
	for i, block := range []string{"p", ""} {
		if a := p.Active()[i]; a.Block != block {
			t.Errorf("%+v is not an instance of %q", a, block)
		}
	}
}
