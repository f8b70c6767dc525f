package state_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestLeftProcessesOfAStepAreOfTheRun: the event that processes of a workstream were left
// belongs to the run of that workstream. The active time includes the time up to the
// event.
func TestLeftProcessesOfAStepAreOfTheRun(t *testing.T) {
	t.Parallel()
	s, now := &state.State{}, time.UnixMilli(1_000_000).UTC()
	for i, e := range []state.Event{checkpointtest.Started("S1", checkpointtest.Cashier()), state.WorkstreamStarted{Workstream: "WS2", Attempt: 1}, state.ProcessesEnded{Workstream: "WS2"}, state.SessionResumed{}} {
		checkpointtest.Must(t, s.Apply(state.Commit{Seq: uint64(i) + 1, Time: now, Events: []state.Event{e}}))
		if now = now.Add(time.Minute); i == 2 {
			now = now.Add(time.Hour) // the runner was killed
		}
	}
	if want := 2 * time.Minute.Milliseconds(); s.ActiveMS != want {
		t.Errorf("the session was active for %d ms, want %d", s.ActiveMS, want)
	}
}

// TestWhatComesAfterAKillIsNoTimeOfTheRun records events long after a runner was killed
// and before the session is resumed or abandoned. The events do not add to the active
// time of the session.
func TestWhatComesAfterAKillIsNoTimeOfTheRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after []state.Event
	}{
		"nothing":                     {},
		"a checkpoint":                {after: []state.Event{state.CheckpointCreated{ID: "CP-a-20250101T000000Z-00000000", Trigger: state.TriggerManual}}},
		"a capture":                   {after: []state.Event{state.WorkspaceCaptured{}}},
		"processes that were left":    {after: []state.Event{state.ProcessesEnded{}}},
		"a pause that is asked for":   {after: []state.Event{state.PauseAsked{}}},
		"an approval":                 {before: []state.Event{state.GateAsked{Verdict: state.Verdict{Gate: "schema-validation (WS1)"}}}, after: []state.Event{state.GateApproved{Verdict: state.Verdict{Gate: "schema-validation (WS1)"}}}},
		"a rejection":                 {before: []state.Event{state.GateAsked{Verdict: state.Verdict{Gate: "schema-validation (WS1)"}}}, after: []state.Event{state.GateRejected{Verdict: state.Verdict{Gate: "schema-validation (WS1)"}}}},
		"an answer about a once step": {before: []state.Event{state.WorkstreamUncertain{Workstream: "WS1"}}, after: []state.Event{state.WorkstreamResolved{Workstream: "WS1", Resolution: state.ResolvedDone}}},
		"several":                     {after: []state.Event{state.ProcessesEnded{}, state.PauseAsked{}, state.WorkspaceCaptured{}}},
	} {
		for _, end := range []state.Event{state.SessionResumed{}, state.SessionAbandoned{}} {
			t.Run(name+", "+string(end.Kind()), func(t *testing.T) {
				t.Parallel()
				s, now := &state.State{}, time.UnixMilli(1_000_000).UTC()
				apply := func(after time.Duration, e state.Event) {
					t.Helper()
					now = now.Add(after)
					checkpointtest.Must(t, s.Apply(state.Commit{Seq: s.Seq + 1, Time: now, Events: []state.Event{e}}))
				}
				apply(0, checkpointtest.Started("S1", checkpointtest.Cashier()))
				for _, e := range tt.before {
					apply(0, e)
				}
				apply(time.Minute, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
				for _, e := range tt.after {
					apply(10*time.Hour, e)
				}
				apply(0, end)
				if want := time.Minute.Milliseconds(); s.ActiveMS != want {
					t.Errorf("the session was active for %d ms, want %d", s.ActiveMS, want)
				}
			})
		}
	}
}
