package state_test

import (
	"encoding/json"
	"errors"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestStructure: a decoded state that lacks a value which the fold relies on is refused.
func TestStructure(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(s *state.State){
		"a phase is null":                        func(s *state.State) { s.Phases[1] = nil },
		"a workstream is null":                   func(s *state.State) { s.Phases[0].Workstreams[1] = nil },
		"a gate of a workstream is null":         func(s *state.State) { s.Phases[0].Workstreams[0].Gates[0] = nil },
		"a gate of a phase is null":              func(s *state.State) { s.Phases[0].Gates[0] = nil },
		"a workstream that is gone is null":      func(s *state.State) { s.Gone = []*state.Workstream{nil} },
		"a gate of one that is gone is null":     func(s *state.State) { s.Gone = []*state.Workstream{{Gates: []*state.Gate{nil}}} },
		"a checkpoint is null":                   func(s *state.State) { s.Checkpoints = append(s.Checkpoints, nil) },
		"the current phase is negative":          func(s *state.State) { s.CurrentPhase = -1 },
		"the current phase is beyond the phases": func(s *state.State) { s.CurrentPhase = 3 },
	} {
		f := &fold{T: t, State: &state.State{}}
		f.apply(small("S1"), checkpoint("one", state.TriggerManual))
		f.CurrentPhase = 2
		checkpointtest.Must(t, f.CheckStructure())
		if breaks(f.State); f.CheckStructure() == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// TestDocumentOfAState: the document of a state names each workstream and gate of the
// pipeline once. Skipped ones may be absent.
func TestDocumentOfAState(t *testing.T) {
	t.Parallel()
	f := &fold{T: t, State: &state.State{}}
	f.apply(small("S1"), state.GateSkipped{Gate: approve}, state.WorkstreamSkipped{Workstream: "B"})
	d := state.NewDocument(f.State)
	checkpointtest.Must(t, d.Matches(f.State))
	for name, breaks := range map[string]func(d *state.Document){
		"a workstream is missing":     func(d *state.Document) { d.Pending = d.Pending[1:] },
		"a workstream is named twice": func(d *state.Document) { d.Completed = []string{"A"} },
		"a gate is missing":           func(d *state.Document) { d.GatesPending = nil },
		"a skipped gate is named":     func(d *state.Document) { d.GatesPassed = []string{approve} },
	} {
		broken := state.NewDocument(f.State)
		if breaks(&broken); !errors.Is(broken.Matches(f.State), state.ErrDocument) {
			t.Errorf("%s: it matches", name)
		}
	}
}

// TestErrorOfADocument: the error of a failed session names a workstream, or what owns the
// gate that failed, and has a message.
func TestErrorOfADocument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failure             state.Failure
		workstream, message string
	}{
		{state.Failure{Workstream: "A", Gate: lint, Message: "no"}, "A", "no"},
		{state.Failure{Gate: approve, Message: "no"}, "build", "no"},
		{state.Failure{}, "checkpoint", "failed"},
	} {
		f := &fold{T: t, State: &state.State{}}
		f.apply(small("S1"), state.SessionFailed{Error: tt.failure})
		d := state.NewDocument(f.State)
		checkpointtest.Must(t, d.Validate(nil))
		if d.Error == nil || d.Error.Workstream != tt.workstream || d.Error.Message != tt.message {
			t.Errorf("%+v: %+v", tt.failure, d.Error)
		}
	}
}

// TestRecords: the records of a state are those of workstreams that the pipeline no longer
// has, and then those of its workstreams.
func TestRecords(t *testing.T) {
	t.Parallel()
	f := &fold{T: t, State: &state.State{}}
	f.apply(small("S1"), state.WorkstreamUncertain{Workstream: "Old", Attempt: 1}, state.WorkstreamUncertain{Workstream: "Older", Attempt: 1})
	var names []string
	for w := range f.Records() {
		names = append(names, w.Name)
	}
	checkpointtest.Same(t, "the records", names, []string{"Old", "Older", "A", "B", "C"})
	for w := range f.Records() {
		checkpointtest.Same(t, "the first record", w.Name, "Old")
		break
	}
}

// TestCanResumeOfOldCheckpoints: a checkpoint whose record does not say whether its session
// can be resumed has one that can, unless the session was complete.
func TestCanResumeOfOldCheckpoints(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]bool{
		`{"trigger": "manual"}`:                        true,
		`{"trigger": "manual", "can_resume": false}`:   false,
		`{"trigger": "complete"}`:                      false,
		`{"trigger": "complete", "can_resume": false}`: false,
	} {
		var ref state.CheckpointRef
		checkpointtest.Must(t, json.Unmarshal([]byte(record), &ref))
		checkpointtest.Same(t, record, ref.CanResume, want)
	}
}

// TestInvalidStaysInvalid: a rollback to a checkpoint that undoes nothing leaves an earlier
// invalid checkpoint invalid.
func TestInvalidStaysInvalid(t *testing.T) {
	t.Parallel()
	f := newFold(t)
	one := f.checkpoint("one", state.TriggerManual)
	f.checkpoint("two", state.TriggerManual)
	f.rollBack("R1", "one", state.RollbackAll, one)
	three := f.checkpoint("three", state.TriggerManual)
	f.rollBack("R2", "three", state.RollbackAll, three)
	checkpointtest.Same(t, "valid", f.valid(), []string{"one", "three"})
}
