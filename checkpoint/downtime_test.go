package checkpoint

import (
	"testing"
	"time"
)

// TestLeftProcessesOfAStepAreOfTheRun: that a step left processes behind is
// recorded by the run that it is of, which was active until then.
func TestLeftProcessesOfAStepAreOfTheRun(t *testing.T) {
	t.Parallel()
	s, now := &State{}, time.UnixMilli(1_000_000).UTC()
	for i, e := range []Event{started("S1", cashier()), WorkstreamStarted{Workstream: "WS2", Attempt: 1}, ProcessesEnded{Workstream: "WS2"}, SessionResumed{}} {
		must(t, s.Apply(Commit{Seq: uint64(i) + 1, Time: now, Events: []Event{e}}))
		if now = now.Add(time.Minute); i == 2 {
			now = now.Add(time.Hour) // it was killed
		}
	}
	if want := 2 * time.Minute.Milliseconds(); s.ActiveMS != want {
		t.Errorf("it was active for %d ms, want %d", s.ActiveMS, want)
	}
}

// TestWhatComesAfterAKillIsNoTimeOfTheRun: whatever is recorded long after a
// runner was killed, until another goes on, the session has been active for as
// long as that one was.
func TestWhatComesAfterAKillIsNoTimeOfTheRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after []Event
	}{
		"nothing":                     {},
		"a checkpoint":                {after: []Event{CheckpointCreated{ID: "CP-a-20250101T000000Z-00000000", Trigger: TriggerManual}}},
		"a capture":                   {after: []Event{WorkspaceCaptured{}}},
		"processes that were left":    {after: []Event{ProcessesEnded{}}},
		"a pause that is asked for":   {after: []Event{PauseAsked{}}},
		"an approval":                 {before: []Event{GateAsked{Verdict: Verdict{Gate: "schema-validation (WS1)"}}}, after: []Event{GateApproved{Verdict: Verdict{Gate: "schema-validation (WS1)"}}}},
		"a rejection":                 {before: []Event{GateAsked{Verdict: Verdict{Gate: "schema-validation (WS1)"}}}, after: []Event{GateRejected{Verdict: Verdict{Gate: "schema-validation (WS1)"}}}},
		"an answer about a once step": {before: []Event{WorkstreamUncertain{Workstream: "WS1"}}, after: []Event{WorkstreamResolved{Workstream: "WS1", Resolution: ResolvedDone}}},
		"several":                     {after: []Event{ProcessesEnded{}, PauseAsked{}, WorkspaceCaptured{}}},
	} {
		for _, end := range []Event{SessionResumed{}, SessionAbandoned{}} {
			t.Run(name+", "+string(end.Kind()), func(t *testing.T) {
				t.Parallel()
				s, now := &State{}, time.UnixMilli(1_000_000).UTC()
				apply := func(after time.Duration, e Event) {
					t.Helper()
					now = now.Add(after)
					must(t, s.Apply(Commit{Seq: s.Seq + 1, Time: now, Events: []Event{e}}))
				}
				apply(0, started("S1", cashier()))
				for _, e := range tt.before {
					apply(0, e)
				}
				apply(time.Minute, WorkstreamStarted{Workstream: "WS2", Attempt: 1})
				for _, e := range tt.after {
					apply(10*time.Hour, e)
				}
				apply(0, end)
				if want := time.Minute.Milliseconds(); s.ActiveMS != want {
					t.Errorf("it was active for %d ms, want %d", s.ActiveMS, want)
				}
			})
		}
	}
}
