package why_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
	"prdrunner/runner/why"
)

var began = time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)

// explain explains the step of a plan that has a name.
func explain(t *testing.T, planned *plan.Plan, history *why.History, name string) why.Explanation {
	t.Helper()
	for i := range planned.Phases {
		for j := range planned.Phases[i].Steps {
			if s := &planned.Phases[i].Steps[j]; s.Name == name {
				return why.Explain(planned, why.Session{}, history, s)
			}
		}
	}
	t.Fatalf("the plan has no %s", name)
	return why.Explanation{}
}

// journal returns the history of some commits.
func journal(t *testing.T, commits ...[]state.Event) *why.History {
	t.Helper()
	var h why.History
	for i, events := range commits {
		if err := h.Visit(state.Commit{Seq: uint64(i + 1), Time: began.Add(time.Duration(i) * time.Minute), Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	return &h
}

func started(name string, attempt int, d state.Digest) state.Event {
	return state.WorkstreamStarted{Workstream: name, Attempt: attempt, Digest: d}
}

func succeeded(name string, d state.Digest, files ...state.Artifact) []state.Event {
	return []state.Event{state.WorkstreamSucceeded{Workstream: name, Work: state.Work{Digest: d, Artifacts: files}}, state.WorkstreamCompleted{Workstream: name}}
}

func made(from, result string) state.Digest {
	return state.Digest{
		Definition: "sha256:d", Inputs: "sha256:" + from, Files: []state.FileRef{{Path: state.Text(from[:1]), Digest: "sha256:" + from}},
		Upstream: result, Results: map[string]string{"notes": result},
	}
}

// TestFirstCause: an explanation goes back to the first cause, in the plan and in the journal.
func TestFirstCause(t *testing.T) {
	t.Parallel()
	notes := func(version string) state.Digest {
		return state.Digest{Definition: "sha256:d", Inputs: version, Files: []state.FileRef{{Path: "changes/1.md", Digest: version}}}
	}
	history := journal(t,
		[]state.Event{started("notes", 1, notes("1"))}, succeeded("notes", notes("1"), state.Artifact{Path: "notes.md"}),
		[]state.Event{started("archive", 1, made("x", "r1"))}, succeeded("archive", made("x", "r1")),
		[]state.Event{state.WorkstreamInvalidated{Workstream: "notes", Reason: "inputs changed: changes/1.md"}, started("notes", 2, notes("2"))},
		[]state.Event{state.WorkstreamAttemptFailed{Workstream: "notes"}}, []state.Event{started("notes", 3, notes("2"))},
		succeeded("notes", notes("2"), state.Artifact{Path: "notes.md"}),
		[]state.Event{started("archive", 2, made("x", "r2"))}, []state.Event{state.WorkstreamFailed{Workstream: "archive", Error: state.Failure{Message: "no"}}},
	)
	changed := []plan.Change{{Component: "inputs", Name: "changes/1.md", Old: "2", New: "3"}}
	planned := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{
		{Kind: plan.WorkstreamStep, Name: "notes", Decision: plan.Rerun, Reason: "inputs changed: changes/1.md", Changes: changed},
		{Kind: plan.WorkstreamStep, Name: "archive", Decision: plan.Depends, Reason: "on the result of notes", On: []string{"notes"}},
	}}}}
	got := explain(t, planned, history, "archive")
	if want := "archive may run again, because notes runs again: inputs changed: changes/1.md"; got.Next.Chain() != want {
		t.Errorf("the next build: %q, want %q", got.Next.Chain(), want)
	}
	if want := "archive ran again, because notes ran again: inputs changed: changes/1.md"; got.Last.Cause.Chain() != want {
		t.Errorf("the last run: %q, want %q", got.Last.Cause.Chain(), want)
	}
	want := &why.Run{At: began.Add(8 * time.Minute), EndedAt: began.Add(9 * time.Minute), Attempt: 2, Seq: 9, Ended: "failed: no"}
	got.Last.Cause = nil
	if diff := cmp.Diff(want, got.Last); diff != "" {
		t.Errorf("the last run (-want +got):\n%s", diff)
	}
	if got := explain(t, planned, history, "notes"); got.Last.Attempt != 3 || got.Last.Seq != 5 || got.Last.Ended != "completed" {
		t.Errorf("a retry counts as a run of its own: %+v", got.Last)
	}
	if got := explain(t, planned, nil, "notes"); got.Last != nil {
		t.Errorf("a run without a session: %+v", got.Last)
	}
}

// TestChangedSinceAFailure: a run after a failure is told what changed since the run that failed.
func TestChangedSinceAFailure(t *testing.T) {
	t.Parallel()
	notes := func(version string) state.Digest {
		return state.Digest{Definition: "sha256:d", Inputs: version, Files: []state.FileRef{{Path: "changes/1.md", Digest: version}}}
	}
	fail := []state.Event{state.WorkstreamFailed{Workstream: "notes", Error: state.Failure{Message: "no"}}}
	history := journal(t,
		[]state.Event{started("notes", 1, notes("1"))}, succeeded("notes", notes("1")),
		[]state.Event{started("notes", 2, notes("2"))}, fail,
		[]state.Event{started("notes", 3, notes("3"))}, succeeded("notes", notes("3")),
	)
	planned := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{{Kind: plan.WorkstreamStep, Name: "notes", Decision: plan.Reuse}}}}}
	want := &why.Cause{
		Name: "notes", Does: "ran again", Reason: "the run before it failed: no",
		Changes: []why.Change{{Change: plan.Change{Component: "inputs", Name: "changes/1.md", Old: "2", New: "3"}}},
	}
	if diff := cmp.Diff(want, explain(t, planned, history, "notes").Last.Cause); diff != "" {
		t.Errorf("why it ran (-want +got):\n%s", diff)
	}
}

// TestWhatBlocks: what waits is found behind what it blocks, and no cause is repeated without end.
func TestWhatBlocks(t *testing.T) {
	t.Parallel()
	planned := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{
		{Kind: plan.WorkstreamStep, Name: "draft", Decision: plan.Judge, Reason: "the work is done", On: []string{"release"}},
		{Kind: plan.GateStep, Name: "sign-off (draft)", Decision: plan.Judge, Reason: plan.WaitsForApproval},
		{Kind: plan.GateStep, Name: "lint (draft)", Decision: plan.Reuse},
		{Kind: plan.WorkstreamStep, Name: "release", Decision: plan.Blocked, Reason: "needs draft", On: []string{"draft"}},
		{Kind: plan.WorkstreamStep, Name: "beta", Decision: plan.Skipped, Reason: "when is false"},
		{Kind: plan.WorkstreamStep, Name: "gamma", Decision: plan.Run, Reason: "not run yet"},
	}}, {Steps: []plan.Step{{Kind: plan.WorkstreamStep, Name: "later", Decision: plan.Run, Reason: "not run yet"}}}}}
	history := journal(t, []state.Event{state.GateAsked{Verdict: state.Verdict{Gate: "sign-off (draft)"}}, state.WorkstreamSkipped{Workstream: "beta", Reason: "when is false"}})
	for name, want := range map[string][2]string{
		"release":          {"release is blocked, because draft does not run again; its gates come next, because sign-off (draft) waits for an approval", ""},
		"sign-off (draft)": {"sign-off (draft) waits for an approval", "sign-off (draft) asked for approval: it had no verdict yet"},
		"beta":             {"beta is skipped: when is false", "beta was skipped: when is false"},
		"gamma":            {"gamma runs: not run yet", ""},
		"later":            {"later runs, once sign-off (draft) is approved: not run yet", ""},
		"lint (draft)":     {"lint (draft) keeps its verdict", ""},
	} {
		got := explain(t, planned, history, name)
		last := ""
		if got.Last != nil {
			last = got.Last.Cause.Chain()
		}
		if diff := cmp.Diff(want, [2]string{got.Next.Chain(), last}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestVerdictWithoutStart: each verdict of a gate that runs no process is a judgement of its own.
func TestVerdictWithoutStart(t *testing.T) {
	t.Parallel()
	planned := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{{Kind: plan.GateStep, Name: "g (a)", Decision: plan.Reuse}}}}}
	gate := state.Verdict{Gate: "g (a)"}
	commits := [][]state.Event{{state.GateFailed{Verdict: gate, Error: state.Failure{Message: "3 is below 4"}}}, {state.GatePassed{Verdict: gate}}}
	for n, want := range map[int]why.Run{
		1: {At: began, EndedAt: began, Seq: 1, Ended: "failed: 3 is below 4", Cause: &why.Cause{Name: "g (a)", Does: "was judged", Reason: "it had no verdict yet"}},
		2: {At: began.Add(time.Minute), EndedAt: began.Add(time.Minute), Seq: 2, Ended: "passed", Cause: &why.Cause{Name: "g (a)", Does: "was judged again"}},
	} {
		got := explain(t, planned, journal(t, commits[:n]...), "g (a)").Last
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("after %d verdicts (-want +got):\n%s", n, diff)
		}
	}
}

// TestLastAnswer: what a person said is told.
func TestLastAnswer(t *testing.T) {
	t.Parallel()
	gate := state.Verdict{Gate: "g (a)"}
	planned := &plan.Plan{Phases: []plan.Phase{{Steps: []plan.Step{{Kind: plan.GateStep, Name: "g (a)", Decision: plan.Reuse}}}}}
	for want, event := range map[string]state.Event{
		"approved by ana: fine": state.GateApproved{Verdict: gate, By: state.Actor{User: "ana"}, Comment: "fine"},
		"rejected: no":          state.GateRejected{Verdict: gate, Reason: "no"},
		"passed":                state.GatePassed{Verdict: gate},
		"failed: broken":        state.GateFailed{Verdict: gate, Error: state.Failure{Message: "broken"}},
		"skipped since":         state.GateSkipped{Gate: "g (a)", Reason: "r"},
	} {
		got := explain(t, planned, journal(t, []state.Event{state.GateStarted{Gate: "g (a)", Attempt: 1}}, []state.Event{event}), "g (a)")
		if string(got.Last.Ended) != want {
			t.Errorf("%q, want %q", got.Last.Ended, want)
		}
	}
	got := explain(t, planned, journal(t, []state.Event{state.GateVoided{Gate: "g (a)", Reason: "its files changed"}, state.GateStarted{Gate: "g (a)", Attempt: 2}}), "g (a)")
	if chain := got.Last.Cause.Chain(); chain != "g (a) was judged: its files changed" {
		t.Errorf("%q", chain)
	}
}

// TestChain: the chain leads to the first cause, but a step that would run anyway says why itself.
func TestChain(t *testing.T) {
	t.Parallel()
	upstream := &why.Cause{Name: "a", Does: "runs again", Reason: "inputs changed: x", Changes: []why.Change{{Added: 2, Deleted: 1}}}
	for want, c := range map[string]why.Cause{
		"b runs again, because a runs again: inputs changed: x (+2 −1 lines)": {Name: "b", Does: "runs again", Reason: "upstream changed: a", Decision: plan.Rerun, Because: []*why.Cause{upstream}},
		"b runs: attempt 2 failed":                                     {Name: "b", Does: "runs", Reason: "attempt 2 failed", Decision: plan.Run, Because: []*why.Cause{upstream}},
		"b ran, because a runs again: inputs changed: x (+2 −1 lines)": {Name: "b", Does: "ran", Because: []*why.Cause{upstream}},
		"b runs": {Name: "b", Does: "runs"},
	} {
		if got := c.Chain(); got != want {
			t.Errorf("the chain is %q, want %q", got, want)
		}
	}
}
