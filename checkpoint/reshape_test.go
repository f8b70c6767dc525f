package checkpoint_test

import (
	"context"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
)

// TestGoneWorkstreamsComeBackWithTheirRecords removes a workstream from the pipeline,
// lets another owner read the journal, and adds the workstream again. The record of a
// workstream that had run must be kept meanwhile, not be shown in the document, and apply
// again in the end.
func TestGoneWorkstreamsComeBackWithTheirRecords(t *testing.T) {
	t.Parallel()
	did := checkpointtest.Work("WS1", "schema-validation", "a.sql")
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
			with, without := checkpointtest.Cashier(), checkpointtest.Cashier()
			with.Phases[0].Workstreams[0].Once = tt.once
			without.Phases = without.Phases[1:]
			f := checkpointtest.InMemory(t)
			x := f.Lock()
			checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", with)))
			checkpointtest.Commit(t, x, tt.events...)
			was := *x.State().Workstream("WS1")
			checkpointtest.Commit(t, x, state.SessionResumed{Shape: &without})
			if w := x.State().Workstream("WS1"); (w != nil) != tt.kept || w != nil && w.Phase() != nil {
				t.Errorf("while the workstream is removed, its record is %+v", w)
			}
			if d := document.New(x.State()); len(d.Completed)+len(d.GatesPassed) > 0 {
				t.Errorf("the document shows a removed workstream: %+v", d)
			}
			checkpointtest.Must(t, x.Close())
			x = f.Lock() // another owner reads the journal
			checkpointtest.Commit(t, x, state.SessionResumed{Shape: &with})
			w := x.State().Workstream("WS1")
			if w.Status != tt.status || w.Gates[0].Status != tt.gate || w.Attempts != tt.attempts || w.Phase() == nil {
				t.Errorf("added again, the workstream is %s after %d attempts, its gate %s", w.Status, w.Attempts, w.Gates[0].Status)
			}
			checkpointtest.Same(t, "artifacts", w.Artifacts, was.Artifacts)
			if w.WorkSeq != was.WorkSeq || w.Step != was.Step || len(x.State().Gone) > 0 {
				t.Errorf("added again, the workstream is of commit %d and step %d; %d are still recorded as removed", w.WorkSeq, w.Step, len(x.State().Gone))
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestGatesOfTheSameLabelAreNotOne removes a workstream and adds a phase of the same name
// with a gate of the same name. The phase's gate continues from the record of the
// workstream's gate. Voiding it, or changing a clone of the state, must not change that
// record.
func TestGatesOfTheSameLabelAreNotOne(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Lock()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Cashier())))
	checkpointtest.Commit(t, x, checkpointtest.Work("WS1", "schema-validation")...)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &state.Shape{Phases: []state.PhaseShape{{
		Name: "WS1", Workstreams: []state.WorkstreamShape{{Name: "other"}}, Gates: []string{"schema-validation"},
	}}}})
	checkpointtest.Commit(t, x, state.GateVoided{Gate: "schema-validation (WS1)"})
	x.State().Clone().Workstream("WS1").Gates[0].Status = state.Failed
	if got := x.State().Workstream("WS1").Gates[0].Status; got != state.Passed {
		t.Errorf("the gate of the removed workstream is %s", got)
	}
}

// TestObjectsOfGoneWorkstreamsAreKept removes a workstream from the pipeline, makes
// checkpoints, adds the workstream again and lets it make another artifact. Tidy and
// Collect must keep the earlier artifact, which a checkpoint records, and Collect must
// remove the object that nothing needs.
func TestObjectsOfGoneWorkstreamsAreKept(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	s := f.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(2))))
	first, made := checkpointtest.Put(t, s, "a.txt", "first"), checkpointtest.Put(t, s, "a.txt", "made")
	checkpointtest.Produce(t, x, "w1", first)
	checkpointtest.Produce(t, x, "w1", made)
	shape := checkpointtest.Wide(1)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &shape})
	for range 5 {
		checkpointtest.Produce(t, x, "w0")
		checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete)
	}
	checkpointtest.Mark(t, x, state.TriggerManual) // this checkpoint records the artifact; the state below does not
	shape = checkpointtest.Wide(2)
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &shape})
	checkpointtest.Produce(t, x, "w1", checkpointtest.Put(t, s, "a.txt", "second"))
	checkpointtest.SameSpans(t, x)
	_, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	for _, when := range []string{"after Tidy", "after Collect"} {
		if got := checkpointtest.Has(t, s, made); got != "1" {
			t.Fatalf("%s, the artifact is lost", when)
		}
		checkpointtest.NeedsWhole(t, s, "PRD-009")
		_, err := prune.Collect(context.Background(), s, nil)
		checkpointtest.Must(t, err)
	}
	if got := checkpointtest.Has(t, s, first); got != "0" {
		t.Error("an object that nothing needs still exists")
	}
}
