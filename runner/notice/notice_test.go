package notice

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/feedback"
)

const (
	lint   = "lint (app)"
	signed = "sign-off (build)"
)

func at(second int) time.Time { return time.Unix(int64(second), 0) }

// played returns the state of a session after commits, one second apart. It has the phases
// build (app with the gate lint, docs; the gate sign-off) and ship (mail).
func played(t *testing.T, commits ...[]state.Event) *state.State {
	t.Helper()
	start := checkpointtest.Started("s", state.Shape{Phases: []state.PhaseShape{
		{Name: "build", Gates: []string{"sign-off"}, Workstreams: []state.WorkstreamShape{{Name: "app", Batch: 1, Gates: []string{"lint"}}, {Name: "docs", Batch: 1}}},
		{Name: "ship", Workstreams: []state.WorkstreamShape{{Name: "mail", Batch: 1, Once: true}}},
	}})
	st := &state.State{}
	for i, events := range append([][]state.Event{{start, state.PhaseStarted{Phase: "build"}}}, commits...) {
		checkpointtest.Must(t, st.Apply(state.Commit{Seq: uint64(i + 1), Time: at(i), Events: events}))
	}
	return st
}

func TestFor(t *testing.T) {
	t.Parallel()
	broke := state.Failure{Workstream: "app", Outcome: "exited", ExitCode: 3, Message: "broke", File: "a.go", Line: 3, Column: 7, Log: "app.1.log"}
	docs := state.Failure{Workstream: "docs", Outcome: "signaled", Signal: "SIGSEGV", Message: "ended by SIGSEGV"}
	long := state.Failure{Workstream: "app", Gate: lint, Outcome: "exited", Message: "too long"}
	no := state.Failure{Workstream: "build", Gate: signed, Outcome: "rejected", Message: "rejected by ana: page 2"}
	sent := state.Failure{Workstream: "mail", Outcome: "exited", Message: "no answer"}
	one := func(e ...state.Event) []state.Event { return e }
	run := func(w string) []state.Event {
		return one(state.WorkstreamStarted{Workstream: w, Attempt: 1}, state.WorkstreamSucceeded{Workstream: w, Work: state.Work{Attempt: 1}})
	}
	fail := func(f state.Failure) []state.Event {
		return one(state.WorkstreamStarted{Workstream: f.Workstream, Attempt: 1}, state.WorkstreamFailed{Workstream: f.Workstream, Error: f})
	}
	due := func(event string) state.Event { return state.HooksDue{Event: event, Hooks: 2, RanMS: 1500} }
	failures := func(all ...state.Failure) []feedback.Failure {
		list := []feedback.Failure{}
		for _, f := range all {
			list = append(list, feedback.Failure{Failure: f})
		}
		return list
	}
	expires := at(99)
	for name, tt := range map[string]struct {
		commits [][]state.Event
		old     bool // an older version recorded the event, without its time
		want    *Document
	}{
		"no hook is due": {commits: [][]state.Event{one(state.SessionCompleted{})}},
		"failed, the error of the session first": {
			commits: [][]state.Event{fail(broke), fail(docs), one(state.SessionFailed{Error: docs, RanMS: 1500}, due("failed"))},
			want: &Document{Event: "failed", Time: at(3), DurationMS: 1500, RunDurationMS: 1500, Phase: "build",
				Workstreams: Counts{Failed: 2, Pending: 1}, Failures: failures(docs, broke)},
		},
		"the same after the first of the hooks": {
			commits: [][]state.Event{fail(broke), one(state.SessionFailed{Error: broke, RanMS: 1500}, due("failed")), one(state.HookEnded{Event: "failed", Hook: 1})},
			want: &Document{Event: "failed", Time: at(2), DurationMS: 1500, RunDurationMS: 1500, Phase: "build",
				Workstreams: Counts{Failed: 1, Pending: 2}, Failures: failures(broke)},
		},
		"a gate failed, and a person rejected": {
			commits: [][]state.Event{run("app"), one(state.GateFailed{Verdict: state.Verdict{Gate: lint}, Error: long}),
				one(state.GateRejected{Verdict: state.Verdict{Gate: signed}, By: state.Actor{User: "ana"}, Reason: "page 2"}),
				one(state.SessionFailed{Error: long, RanMS: 1500}, due("failed"))},
			want: &Document{Event: "failed", Time: at(4), DurationMS: 1500, RunDurationMS: 1500, Phase: "build",
				Workstreams: Counts{Pending: 3}, Failures: failures(long, no)},
		},
		"waiting for an approval": {
			commits: [][]state.Event{run("app"), one(state.WorkstreamCompleted{Workstream: "app"}, state.WorkstreamSkipped{Workstream: "docs", Reason: "when is false"}),
				one(state.GateAsked{Verdict: state.Verdict{Gate: signed}, Message: "Ship?", Approvers: []string{"ana"}, ExpiresAt: &expires}),
				one(state.SessionPaused{Reason: state.PauseApproval, Gates: []string{signed}, Message: "waiting", RanMS: 1500}, due("paused"))},
			want: &Document{Event: "paused", Time: at(4), DurationMS: 1500, RunDurationMS: 1500, Phase: "build",
				Workstreams: Counts{Completed: 1, Skipped: 1, Pending: 1}, Failures: failures(),
				Waits: &Waits{Reason: state.PauseApproval, Message: "waiting", Gates: []Gate{{Gate: signed, Message: "Ship?", Approvers: []string{"ana"}, ExpiresAt: &expires}}}},
		},
		"a once workstream that may have happened, and one that has": {
			commits: [][]state.Event{
				one(state.PhaseStarted{Phase: "ship"}, state.WorkstreamStarted{Workstream: "mail", Attempt: 1}, state.WorkstreamUncertain{Workstream: "mail", Error: sent}),
				one(state.WorkstreamUncertain{Workstream: "docs", Error: state.Failure{Workstream: "docs", Outcome: state.OutcomeHappened, Message: "on Monday"}}),
				one(state.SessionPaused{Reason: state.PauseUncertain, Steps: []string{"mail", "docs"}, RanMS: 1500}, due("paused"))},
			want: &Document{Event: "paused", Time: at(3), DurationMS: 1500, RunDurationMS: 1500, Phase: "ship",
				Workstreams: Counts{Pending: 3}, Failures: failures(sent), Waits: &Waits{Reason: state.PauseUncertain, Workstreams: []string{"mail", "docs"}}},
		},
		"interrupted in the second run, after a failure in it": {
			commits: [][]state.Event{one(state.SessionPaused{Reason: state.PauseRequested, RanMS: 2000}), one(state.SessionResumed{}), fail(broke),
				one(state.SessionInterrupted{Signal: "SIGINT", RanMS: 1500}, due("interrupted"))},
			want: &Document{Event: "interrupted", Time: at(4), DurationMS: 3500, RunDurationMS: 1500, Phase: "build", Signal: "SIGINT",
				Workstreams: Counts{Failed: 1, Pending: 2}, Failures: failures(broke)},
		},
		"complete, with a failure that is allowed": {
			commits: [][]state.Event{
				one(state.WorkstreamStarted{Workstream: "app", Attempt: 1}, state.GateFailed{Verdict: state.Verdict{Gate: lint}, Error: long}, state.WorkstreamFailed{Workstream: "app", Error: broke, Allowed: true}),
				one(state.SessionCompleted{RanMS: 1500}, due("complete"))},
			want: &Document{Event: "complete", Time: at(2), DurationMS: 1500, RunDurationMS: 1500, Phase: "build",
				Workstreams: Counts{Failed: 1, Pending: 2}, Failures: failures(), Allowed: failures(broke)},
		},
		"complete, with a checkpoint": {
			commits: [][]state.Event{run("app"), one(state.WorkstreamCompleted{Workstream: "app"}),
				one(state.SessionCompleted{RanMS: 1500}, due("complete"), state.CheckpointCreated{ID: "CP-1", Trigger: state.TriggerComplete})},
			want: &Document{Event: "complete", Time: at(3), DurationMS: 1500, RunDurationMS: 1500, Phase: "build",
				Workstreams: Counts{Completed: 1, Pending: 2}, Failures: failures(), Checkpoint: "CP-1"},
		},
		"an event without its time": {
			old:     true,
			commits: [][]state.Event{one(state.SessionCompleted{}, state.HooksDue{Event: "complete", Hooks: 1})},
			want: &Document{Event: "complete", Time: at(1), DurationMS: 1000, Phase: "build",
				Workstreams: Counts{Pending: 3}, Failures: failures()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := []state.Text{"runner build PRD-009 --resume"}
			st := played(t, tt.commits...)
			if tt.old {
				st.Hooks.At = time.Time{}
			}
			if tt.want != nil {
				tt.want.FormatVersion, tt.want.PRD, tt.want.Title, tt.want.Session, tt.want.Next = FormatVersion, st.PRD, st.Title, "s", next
			}
			if diff := cmp.Diff(tt.want, For(st, next)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestForManyFailures: a document has at most 100 failures, and none twice.
func TestForManyFailures(t *testing.T) {
	t.Parallel()
	st := played(t, []state.Event{state.HooksDue{Event: "failed", Hooks: 1}})
	p := st.Phases[0]
	for i := range 150 {
		f := &state.Failure{Workstream: fmt.Sprint(i), Message: "broke"}
		p.Workstreams = append(p.Workstreams, &state.Workstream{Name: f.Workstream, Status: state.Failed, Error: f})
	}
	st.Error = p.Workstreams[50].Error
	d := For(st, nil)
	if len(d.Failures) != maxFailures || d.Failures[0].Workstream != "48" || d.Failures[1].Workstream != "0" || d.Failures[99].Workstream != "99" {
		t.Errorf("%d failures, of %s, %s … %s", len(d.Failures), d.Failures[0].Workstream, d.Failures[1].Workstream, d.Failures[len(d.Failures)-1].Workstream)
	}
	if d.Workstreams.Failed != 150 || d.Next == nil {
		t.Errorf("%+v, next %v", d.Workstreams, d.Next)
	}
}
