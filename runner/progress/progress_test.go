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
		"a gate fails": {
			[]state.Event{one, start("a"), state.WorkstreamSucceeded{Workstream: "a"}, state.GateStarted{Gate: "lint (a)", Attempt: 1}, state.GateFailed{Verdict: state.Verdict{Gate: "lint (a)"}}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Failed: 1}, nil,
		},
		"a failure is allowed": {
			[]state.Event{one, start("a"), state.WorkstreamFailed{Workstream: "a", Allowed: true}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Allowed: 1}, nil,
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
		"an approval of a workstream is open": {
			[]state.Event{one, start("a"), state.WorkstreamSucceeded{Workstream: "a"}, state.GateAsked{Verdict: state.Verdict{Gate: "ship (a)"}}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1, Asking: 1}, []string{"ship (a) 3 0 3s"},
		},
		"the cached work of one is judged": {
			[]state.Event{
				one, start("a"), state.WorkstreamSucceeded{Workstream: "a", Work: state.Work{Cached: &state.Cached{}}}, state.WorkstreamCompleted{Workstream: "a"},
			},
			progress.Counts{Total: 6, Reused: 2, Skipped: 1}, nil,
		},
		"a phase is complete, of which some were found unchanged": {
			[]state.Event{one, start("a"), state.WorkstreamCompleted{Workstream: "a"}, state.PhaseCompleted{Phase: "one"}},
			progress.Counts{Total: 6, Reused: 3, Skipped: 1, Done: 1}, nil,
		},
		"a phase is repeated": {
			[]state.Event{one, start("a"), state.WorkstreamFailed{Workstream: "a"}, state.PhaseRepeated{Phase: "one", Iteration: 2}},
			progress.Counts{Total: 6}, nil,
		},
		"a phase is passed over": {
			[]state.Event{state.PhaseSkipped{Phase: "one"}}, progress.Counts{Total: 6, Skipped: 5}, nil,
		},
		"the review runs": {
			[]state.Event{state.ReviewStarted{Attempt: 1, Run: 3}}, progress.Counts{Total: 6, Reused: 1, Skipped: 1}, []string{"review 4 3 0s"},
		},
		"the review has failed": {
			[]state.Event{state.ReviewStarted{Attempt: 1, Run: 3}, state.ReviewFailed{}}, progress.Counts{Total: 6, Reused: 1, Skipped: 1}, nil,
		},
		"one service is ready, and one has ended": {
			[]state.Event{
				state.ServiceStarted{Service: "db", Attempt: 2}, state.ServiceStarted{Service: "api", Attempt: 1}, state.ServiceReady{Service: "db", Attempt: 2},
				state.ServiceEnded{Service: "api", Attempt: 1}, state.ServiceStarted{Service: "mail", Attempt: 1},
			},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1}, []string{"service db 6 2 2s", "service mail 5 1 4s"},
		},
		"the second of two hooks runs": {
			[]state.Event{state.HooksDue{Event: "failed", Hooks: 2}, state.HookEnded{Event: "failed", Hook: 1}},
			progress.Counts{Total: 6, Reused: 1, Skipped: 1}, []string{"hook 2 for failed 7 0 1s"},
		},
		"all hooks have run": {
			[]state.Event{state.HooksDue{Event: "failed", Hooks: 1}, state.HookEnded{Event: "failed", Hook: 1}}, progress.Counts{Total: 6, Reused: 1, Skipped: 1}, nil,
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

// TestAwait: a question that an earlier run has asked is open until it is answered.
func TestAwait(t *testing.T) {
	t.Parallel()
	p := begin()
	p.Await(runner.Awaited{Gate: "ship (a)", Message: "Ship it?", Since: at(0)})
	if a := p.Active(); len(a) != 1 || a[0].Activity != progress.Asking || a[0].Message != "Ship it?" || !a[0].Since.Equal(at(0)) || p.Counts().Asking != 1 {
		t.Errorf("active %+v, counts %+v", a, p.Counts())
	}
	p.Commit(state.Commit{Time: at(1), Events: []state.Event{state.GateReviewed{Gate: "ship (a)"}}})
	if len(p.Active()) != 0 || p.Counts().Asking != 0 {
		t.Errorf("after the answer, active %+v, counts %+v", p.Active(), p.Counts())
	}
}

// TestPhases: a phase is ahead until the run comes to it or passes over it. One that is reused as a
// whole is not.
func TestPhases(t *testing.T) {
	t.Parallel()
	p := begin()
	at0 := func() string {
		return fmt.Sprint(p.Phases()[0].Ahead, p.Phases()[1].Ahead, p.Current() != nil)
	}
	got := []string{at0()}
	for i, e := range []state.Event{
		state.PhaseStarted{Phase: "one"}, state.PhaseRepeated{Phase: "one", Iteration: 2}, state.PhaseCompleted{Phase: "one"}, state.PhaseSkipped{Phase: "two"},
	} {
		p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
		got = append(got, at0())
	}
	want := []string{"true true false", "false true true", "false true true", "false true false", "false false false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if one := p.Phases()[0]; one.Iteration != 2 || !one.Began.Equal(at(0)) {
		t.Errorf("the first phase is %+v", one)
	}
	done := progress.New(runner.Beginning{Plan: &plan.Plan{Phases: []plan.Phase{{Name: "one", Steps: []plan.Step{
		{Kind: plan.WorkstreamStep, Name: "a", Decision: plan.Reuse},
	}}}}})
	if done.Phases()[0].Ahead {
		t.Error("a phase that is reused is ahead")
	}
}

// TestNames: an active step knows the name of its logs, and the workstream that it, or the owner of the
// gate, is an instance of.
func TestNames(t *testing.T) {
	t.Parallel()
	p := begin()
	p.Commit(state.Commit{Events: []state.Event{
		state.PhaseStarted{Phase: "two"}, state.WorkstreamStarted{Workstream: `p["x"]`, Attempt: 1}, state.WorkstreamStarted{Workstream: "a", Attempt: 1},
		state.GateStarted{Gate: "lint (a)", Attempt: 1}, state.GateStarted{Gate: `lint (p["x"])`, Attempt: 1},
	}})
	var got []string
	for _, a := range p.Active() {
		got = append(got, a.Log+" of "+a.Block)
	}
	want := []string{`p["x"] of p`, "a of ", "a.lint of ", `p["x"].lint of p`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSlowestWithoutWaiting: the pauses between attempts and the time until people answer do not count.
func TestSlowestWithoutWaiting(t *testing.T) {
	t.Parallel()
	p := begin()
	gate, ship := state.Verdict{Gate: "lint (a)"}, state.Verdict{Gate: "ship (a)"}
	for _, happened := range []struct {
		second int
		event  state.Event
	}{
		{0, state.PhaseStarted{Phase: "one"}},
		{0, state.WorkstreamStarted{Workstream: "a", Attempt: 1}},
		{2, state.WorkstreamAttemptFailed{Workstream: "a", Attempt: 1, RetryInMS: 10000}},
		{12, state.WorkstreamStarted{Workstream: "a", Attempt: 2}},
		{15, state.WorkstreamSucceeded{Workstream: "a"}},
		{15, state.GateStarted{Gate: "lint (a)", Attempt: 1}},
		{15, state.GateStarted{Gate: "ship (a)", Attempt: 1}},
		{16, state.GateAsked{Verdict: ship}},
		{19, state.GatePassed{Verdict: gate}},
		{50, state.GateApproved{Verdict: ship}},
		{50, state.WorkstreamCompleted{Workstream: "a"}},
	} {
		p.Commit(state.Commit{Time: at(happened.second), Events: []state.Event{happened.event}})
	}
	if diff := cmp.Diff([]progress.Took{{Name: "a", Time: 9 * time.Second}}, p.Slowest()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSlowest: the three slowest are known, each once, and what was taken from the cache is none.
func TestSlowest(t *testing.T) {
	t.Parallel()
	p := begin()
	play := func(second int, events ...state.Event) { p.Commit(state.Commit{Time: at(second), Events: events}) }
	start := func(name string) state.Event { return state.WorkstreamStarted{Workstream: name, Attempt: 1} }
	end := func(name string) state.Event { return state.WorkstreamCompleted{Workstream: name} }
	play(0, state.PhaseStarted{Phase: "one"}, start("a"), start("b"), start("c"), start("old"), start(`p["x"]`))
	play(1, end("a"))
	play(2, end("b"))
	play(3, state.WorkstreamFailed{Workstream: "c"})
	play(4, end("old"))
	play(5, state.WorkstreamSucceeded{Workstream: `p["x"]`, Work: state.Work{Cached: &state.Cached{}}}, end(`p["x"]`))
	play(6, start("old"))
	play(7, end("old"))
	want := []progress.Took{{Name: "c", Time: 3 * time.Second}, {Name: "b", Time: 2 * time.Second}, {Name: "old", Time: time.Second}}
	if diff := cmp.Diff(want, p.Slowest()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSlowestWithFailedGate: a workstream whose gate failed has taken its time as well.
func TestSlowestWithFailedGate(t *testing.T) {
	t.Parallel()
	p := begin()
	play := func(second int, events ...state.Event) { p.Commit(state.Commit{Time: at(second), Events: events}) }
	play(0, state.PhaseStarted{Phase: "one"}, state.WorkstreamStarted{Workstream: "a", Attempt: 1}, state.WorkstreamStarted{Workstream: "b", Attempt: 1})
	play(3, state.WorkstreamSucceeded{Workstream: "a"}, state.GateStarted{Gate: "lint (a)", Attempt: 1}, state.WorkstreamCompleted{Workstream: "b"})
	play(5, state.GateFailed{Verdict: state.Verdict{Gate: "lint (a)"}})
	want := []progress.Took{{Name: "a", Time: 5 * time.Second}, {Name: "b", Time: 3 * time.Second}}
	if diff := cmp.Diff(want, p.Slowest()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	play(6, state.GateStarted{Gate: "lint (a)", Attempt: 2})
	play(7, state.GatePassed{Verdict: state.Verdict{Gate: "lint (a)"}}, state.WorkstreamCompleted{Workstream: "a"})
	want[0].Time = 6 * time.Second
	if diff := cmp.Diff(want, p.Slowest()); diff != "" {
		t.Errorf("judged again (-want +got):\n%s", diff)
	}
}
