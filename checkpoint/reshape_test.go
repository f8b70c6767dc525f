package checkpoint

import (
	"context"
	"testing"

	"prdrunner/checkpoint/state"
)

// TestGoneWorkstreamsComeBackWithTheirRecords: a workstream that leaves the
// pipeline keeps its record, beside what is shown, and has it again when the
// pipeline has the workstream again. So it is for who reads the journal anew.
func TestGoneWorkstreamsComeBackWithTheirRecords(t *testing.T) {
	t.Parallel()
	did := work("WS1", "schema-validation", "a.sql")
	tests := []struct {
		name     string
		once     bool
		events   []state.Event
		kept     bool
		status   state.StepStatus
		gate     state.StepStatus
		attempts int
	}{
		{"that nothing happened to", true, nil, false, state.Pending, state.Pending, 0},
		{"that was skipped", true, []state.Event{state.WorkstreamSkipped{Workstream: "WS1"}}, false, state.Pending, state.Pending, 0},
		{"that is complete", true, did, true, state.Completed, state.Passed, 1},
		{"whose gate was being judged", true, did[:3], true, state.Succeeded, state.Pending, 1},
		{"that ran when its runner was killed", false, did[:1], true, state.Interrupted, state.Pending, 1},
		{"that ran, and must happen only once", true, did[:1], true, state.Uncertain, state.Pending, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			with, without := cashier(), cashier()
			with.Phases[0].Workstreams[0].Once = tt.once
			without.Phases = without.Phases[1:]
			f := inMemory(t)
			x := f.lock()
			must(t, x.Start(started("S1", with)))
			commit(t, x, tt.events...)
			was := *x.State().Workstream("WS1")
			commit(t, x, state.SessionResumed{Shape: &without})
			if w := x.State().Workstream("WS1"); (w != nil) != tt.kept || w != nil && w.Phase() != nil {
				t.Errorf("gone, its record is %+v", w)
			}
			if d := state.NewDocument(x.State()); len(d.Completed)+len(d.GatesPassed) > 0 {
				t.Errorf("gone, it is shown: %+v", d)
			}
			must(t, x.Close())
			x = f.lock() // and so it is for another one
			commit(t, x, state.SessionResumed{Shape: &with})
			w := x.State().Workstream("WS1")
			if w.Status != tt.status || w.Gates[0].Status != tt.gate || w.Attempts != tt.attempts || w.Phase() == nil {
				t.Errorf("back, it is %s after %d attempts, its gate %s", w.Status, w.Attempts, w.Gates[0].Status)
			}
			same(t, "what it made", w.Artifacts, was.Artifacts)
			if w.WorkSeq != was.WorkSeq || w.Step != was.Step || len(x.State().Gone) > 0 {
				t.Errorf("back, it is of commit %d and step %d, with %d gone", w.WorkSeq, w.Step, len(x.State().Gone))
			}
			must(t, x.Close())
		})
	}
}

// TestGatesOfTheSameLabelAreNotOne: a phase that has the name of a workstream
// that is gone goes on from the record of a gate of it, and does not change it.
func TestGatesOfTheSameLabelAreNotOne(t *testing.T) {
	t.Parallel()
	x := inMemory(t).lock()
	defer func() { must(t, x.Close()) }()
	must(t, x.Start(started("S1", cashier())))
	commit(t, x, work("WS1", "schema-validation")...)
	commit(t, x, state.SessionResumed{Shape: &state.Shape{Phases: []state.PhaseShape{{
		Name: "WS1", Workstreams: []state.WorkstreamShape{{Name: "other"}}, Gates: []string{"schema-validation"},
	}}}})
	commit(t, x, state.GateVoided{Gate: "schema-validation (WS1)"})
	x.State().Clone().Workstream("WS1").Gates[0].Status = state.Failed
	if got := x.State().Workstream("WS1").Gates[0].Status; got != state.Passed {
		t.Errorf("the gate of the one that is gone is %s", got)
	}
}

// TestObjectsOfGoneWorkstreamsAreKept: what one has made must be there when it
// is back, whatever is removed or collected meanwhile.
func TestObjectsOfGoneWorkstreamsAreKept(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	s := f.open()
	x := lockPRD(t, s, "PRD-009")
	must(t, x.Start(started("S1", wide(2))))
	first, made := put(t, s, "a.txt", "first"), put(t, s, "a.txt", "made")
	produce(t, x, "w1", first)
	produce(t, x, "w1", made)
	shape := wide(1)
	commit(t, x, state.SessionResumed{Shape: &shape})
	for range 5 {
		produce(t, x, "w0")
		mark(t, x, state.TriggerWorkstreamComplete)
	}
	mark(t, x, state.TriggerManual) // which has it on record, unlike where it goes on from there
	shape = wide(2)
	commit(t, x, state.SessionResumed{Shape: &shape})
	produce(t, x, "w1", put(t, s, "a.txt", "second"))
	sameSpans(t, x)
	_, err := x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	for _, look := range []string{"when the run ended", "when everything was collected"} {
		if got := has(t, s, made); got != "1" {
			t.Fatalf("%s, what it made was gone", look)
		}
		needsWhole(t, s, "PRD-009")
		_, err := s.Collect(context.Background(), nil)
		must(t, err)
	}
	if got := has(t, s, first); got != "0" {
		t.Error("what nothing needs is still there")
	}
}
