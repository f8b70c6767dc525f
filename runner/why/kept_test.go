package why_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
	"prdrunner/runner/why"
)

// TestWhatKeeps goes back from what has not started to the first cause.
func TestWhatKeeps(t *testing.T) {
	t.Parallel()
	failure := &state.Failure{Workstream: "a", Message: "exit code 1"}
	for _, tt := range []struct {
		name           string
		change         func(st *state.State)
		running        bool
		b, c, approval string
	}{
		{"a failure", func(st *state.State) { st.Status, st.Error = state.StatusFailed, failure; fail(st, "a", failure) }, false,
			"b did not start, because a failed: exit code 1", "c did not start, because a failed: exit code 1", "ok (two) was not judged, because a failed: exit code 1"},
		{"a gate that failed", func(st *state.State) {
			st.Status = state.StatusFailed
			fail(st, "a", &state.Failure{Workstream: "a", Gate: "lint (a)", Message: "bad"})
		}, false, "b did not start, because lint (a) failed: bad", "c did not start, because lint (a) failed: bad", "ok (two) was not judged, because lint (a) failed: bad"},
		{"a failure that nothing needs", func(st *state.State) { st.Status = state.StatusFailed; done(st, "a"); fail(st, "x", failure) }, false,
			"b did not start, because x failed: exit code 1", "c did not start, because x failed: exit code 1", "ok (two) was not judged, because x failed: exit code 1"},
		{"a signal", func(st *state.State) {
			st.Status, st.Interrupted = state.StatusPaused, "SIGINT"
			st.Workstream("a").Status = state.Interrupted
		}, false, "b did not start, because a was interrupted, because the run was interrupted by SIGINT",
			"c did not start, because a was interrupted, because the run was interrupted by SIGINT", "ok (two) was not judged, because a was interrupted, because the run was interrupted by SIGINT"},
		{"a pause", func(st *state.State) {
			st.Status, st.Pause = state.StatusPaused, &state.Pause{}
			done(st, "a")
		}, false, "b did not start, because the session is paused: the budget is used up", "c did not start, because the session is paused: the budget is used up",
			"ok (two) was not judged, because the session is paused: the budget is used up"},
		{"a kill", func(st *state.State) { st.RunningAt = &began; st.Workstream("a").Status = state.Interrupted }, false,
			"b did not start, because a was interrupted, because the runner was killed: how its run ended is not on record",
			"c did not start, because a was interrupted, because the runner was killed: how its run ended is not on record",
			"ok (two) was not judged, because a was interrupted, because the runner was killed: how its run ended is not on record"},
		{"an approval", func(st *state.State) {
			st.Status = state.StatusPaused
			st.Workstream("a").Status = state.Succeeded
			st.Gate("lint (a)").Status, st.Gate("lint (a)").At = state.Waiting, &began
		}, false, "b did not start, because lint (a) waits for an approval since 2025-12-11 10:00:00 UTC",
			"c did not start, because lint (a) waits for an approval since 2025-12-11 10:00:00 UTC", "ok (two) was not judged, because lint (a) waits for an approval since 2025-12-11 10:00:00 UTC"},
		{"a run that is on", func(st *state.State) {
			st.RunningAt = &began
			st.Workstream("a").Status, st.Workstream("a").StartedAt = state.Running, &began
		}, true, "b has not started, because a runs since 2025-12-11 10:00:00 UTC", "c has not started, because a runs since 2025-12-11 10:00:00 UTC",
			"ok (two) has not been judged, because a runs since 2025-12-11 10:00:00 UTC"},
		{"a failure in a run that is on", func(st *state.State) {
			st.RunningAt = &began
			st.Workstream("a").Status, st.Workstream("a").StartedAt = state.Running, &began
			fail(st, "x", failure)
		}, true, "b has not started, because x failed: exit code 1; " + unlessKept, "c has not started, because x failed: exit code 1; " + unlessKept,
			"ok (two) has not been judged, because x failed: exit code 1; " + unlessKept},
		{"a gate that failed in a run that is on", func(st *state.State) {
			st.RunningAt = &began
			st.Workstream("a").Status, st.Gate("lint (a)").Status = state.Succeeded, state.Failed
		}, true, "b has not started, because lint (a) failed: " + unlessKept, "c has not started, because lint (a) failed: " + unlessKept,
			"ok (two) has not been judged, because lint (a) failed: " + unlessKept},
		{"a failure after which work ends that is under way", func(st *state.State) {
			st.RunningAt, st.CurrentPhase = &began, 1
			done(st, "a")
			fail(st, "x", failure)
		}, true, "b has not started, because x failed: exit code 1; " + unlessKept, "c has not started, because x failed: exit code 1; " + unlessKept,
			"ok (two) has not been judged, because x failed: exit code 1; " + unlessKept},
		{"a free slot", func(st *state.State) { st.RunningAt, st.CurrentPhase = &began, 1; done(st, "a"); done(st, "x") }, true,
			"b has not started: it can start, and waits for a free slot", "c has not started: its turn has not come", "ok (two) has not been judged: its turn has not come"},
		{"its turn", func(st *state.State) { st.RunningAt = &began; done(st, "a"); done(st, "x") }, true,
			"b has not started: its turn has not come", "c has not started: its turn has not come", "ok (two) has not been judged: its turn has not come"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := &state.State{Status: state.StatusInProgress, Phases: []*state.Phase{
				{Name: "one", Workstreams: []*state.Workstream{
					{Name: "a", Status: state.Pending, Gates: []*state.Gate{{Label: "lint (a)", Status: state.Pending}}},
					{Name: "b", Status: state.Pending}, {Name: "x", Status: state.Pending},
				}},
				{Name: "two", Workstreams: []*state.Workstream{{Name: "c", Status: state.Pending}}, Gates: []*state.Gate{{Label: "ok (two)", Status: state.Pending}}},
			}}
			tt.change(st)
			session := why.Session{State: st, Running: tt.running, Paused: "the budget is used up", Needs: func(name string) []string {
				if name == "b" {
					return []string{"a"}
				}
				return nil
			}}
			var got []string
			for _, name := range []string{"b", "c", "ok (two)"} {
				e := why.Explain(&plan.Plan{}, session, nil, &plan.Step{Name: name, Decision: plan.Run})
				if e.Kept == nil {
					got = append(got, "")
					continue
				}
				got = append(got, e.Kept.Chain())
			}
			if diff := cmp.Diff([]string{tt.b, tt.c, tt.approval}, got); diff != "" {
				t.Errorf("what keeps b, c and the gate (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEachKeptStepOnce: a step to which many ways lead is told once, and named where others need it too.
func TestEachKeptStepOnce(t *testing.T) {
	t.Parallel()
	const layers = 24 // of two workstreams, each of which needs both of the layer before: 2^24 ways
	name := func(layer, i int) string { return fmt.Sprintf("w%d-%d", layer, i) }
	phase, needs := &state.Phase{Name: "one"}, map[string][]string{}
	for layer := range layers {
		for i := range 2 {
			phase.Workstreams = append(phase.Workstreams, &state.Workstream{Name: name(layer, i), Status: state.Pending})
			if layer > 0 {
				needs[name(layer, i)] = []string{name(layer-1, 0), name(layer-1, 1)}
			}
		}
	}
	st := &state.State{Status: state.StatusFailed, Phases: []*state.Phase{phase}}
	fail(st, name(0, 0), &state.Failure{Workstream: name(0, 0), Message: "exit code 1"})
	session := why.Session{State: st, Needs: func(name string) []string { return needs[name] }}
	kept := why.Explain(&plan.Plan{}, session, nil, &plan.Step{Name: name(layers-1, 0), Decision: plan.Run}).Kept
	full, above := map[string]int{}, 0
	kept.Causes(func(c *why.Cause) {
		switch {
		case c.Above:
			above++
		case c.Does == "did not start":
			full[c.Name]++
		}
	})
	if len(full) != 2*layers-2 || above != 2*layers-5 {
		t.Errorf("%d steps are told and %d named, want %d and %d", len(full), above, 2*layers-2, 2*layers-5)
	}
	for name, n := range full {
		if n != 1 {
			t.Errorf("%s is told %d times", name, n)
		}
	}
	if chain := kept.Chain(); !strings.HasSuffix(chain, "because w1-0 did not start, because w0-0 failed: exit code 1") {
		t.Errorf("the chain has another first cause: %s", chain)
	}
}

const unlessKept = "after a failure nothing else starts, unless the run keeps going"

// TestGateAfterFailure: the gates of work that runs are judged also after a failure elsewhere.
func TestGateAfterFailure(t *testing.T) {
	t.Parallel()
	st := &state.State{RunningAt: &began, CurrentPhase: 1, Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{
		{Name: "a", Status: state.Running, StartedAt: &began, Gates: []*state.Gate{{Label: "lint (a)", Status: state.Pending}}},
		{Name: "x", Status: state.Failed, Error: &state.Failure{Workstream: "x", Message: "exit code 1"}},
	}}}}
	kept := why.Explain(&plan.Plan{}, why.Session{State: st.Clone(), Running: true}, nil, &plan.Step{Name: "lint (a)", Decision: plan.Run}).Kept
	if got, want := kept.Chain(), "lint (a) has not been judged, because a runs since 2025-12-11 10:00:00 UTC"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func done(st *state.State, name string) { st.Workstream(name).Status = state.Completed }

func fail(st *state.State, name string, f *state.Failure) {
	w := st.Workstream(name)
	w.Status, w.Error = state.Failed, f
}

// TestWhatRunsNow tells what a step does in the run that is on.
func TestWhatRunsNow(t *testing.T) {
	t.Parallel()
	later := began.Add(time.Minute)
	st := &state.State{RunningAt: &began, Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{
		{Name: "a", Status: state.Running, Attempts: 2, StartedAt: &began},
		{Name: "b", Status: state.Running, Attempts: 1, RetryAt: &later},
		{Name: "c", Status: state.Completed, Gates: []*state.Gate{{Label: "g (c)", Status: state.Running, Attempts: 1}}},
	}, Gates: []*state.Gate{{Label: "ok (one)", Status: state.Waiting, At: &began}}}}}
	history := journal(t, []state.Event{state.GateStarted{Gate: "g (c)", Attempt: 1}})
	for name, want := range map[string]*why.Now{
		"a":        {Does: "runs", Since: began, Attempt: 2},
		"b":        {Does: "waits for its next attempt", Attempt: 2, Until: later},
		"c":        nil,
		"g (c)":    {Does: "is judged", Since: began, Attempt: 1},
		"ok (one)": {Does: "waits for an approval", Since: began},
	} {
		got := why.Explain(&plan.Plan{}, why.Session{State: st, Running: true}, history, &plan.Step{Name: name})
		if diff := cmp.Diff(want, got.Now); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := why.Explain(&plan.Plan{}, why.Session{State: st}, history, &plan.Step{Name: name}); got.Now != nil {
			t.Errorf("%s does something without a run: %+v", name, got.Now)
		}
	}
}

// TestDifferentResults names the outputs and artifacts of a workstream before it that differ.
func TestDifferentResults(t *testing.T) {
	t.Parallel()
	result := func(digest state.Digest, output, artifact string) []state.Event {
		return []state.Event{state.WorkstreamSucceeded{Workstream: "notes", Work: state.Work{
			Digest: digest, Outputs: map[string]state.Text{"v": state.Text(output), "same": "x"}, Artifacts: []state.Artifact{{Path: "n", Digest: artifact}},
		}}}
	}
	commits := [][]state.Event{
		{started("notes", 1, made("1", ""))}, result(made("1", ""), "1", "d1"), {started("archive", 1, made("x", "r1"))}, succeeded("archive", made("x", "r1")),
		{started("notes", 2, made("2", ""))}, result(made("2", ""), "2", "d2"),
	}
	planned := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{
		{Kind: plan.WorkstreamStep, Name: "archive", Decision: plan.Rerun, Changes: []plan.Change{{Component: "upstream", Name: "notes", Old: "r1", New: "r2"}}},
	}}}}
	want := []plan.Change{
		{Component: "outputs", Name: "notes.v", OldText: `"1"`, NewText: `"2"`},
		{Component: "artifacts", Name: "n", Old: "d1", New: "d2"},
	}
	check := func(of string, c *why.Cause) {
		t.Helper()
		var got []plan.Change
		for _, change := range c.Changes {
			if change.Component != "upstream" && change.Component != "inputs" {
				got = append(got, change.Change)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
	check("the next build", explain(t, planned, journal(t, commits...), "archive").Next)
	again := append(slices.Clone(commits), []state.Event{started("archive", 2, made("x", "r2"))})
	check("the last run", explain(t, planned, journal(t, again...), "archive").Last.Cause)
}
