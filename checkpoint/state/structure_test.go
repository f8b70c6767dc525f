package state_test

import (
	"encoding/json"
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
