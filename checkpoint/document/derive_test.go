package document_test

import (
	"errors"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
)

// TestDocumentOfAState: the document of a state names each workstream and gate of the
// pipeline once. Skipped ones may be absent.
func TestDocumentOfAState(t *testing.T) {
	t.Parallel()
	s := after(t, state.GateSkipped{Gate: "approve (build)"}, state.WorkstreamSkipped{Workstream: "B"})
	d := document.New(s)
	checkpointtest.Must(t, d.Matches(s))
	for name, breaks := range map[string]func(d *document.File){
		"a workstream is missing":     func(d *document.File) { d.Pending = d.Pending[1:] },
		"a workstream is named twice": func(d *document.File) { d.Completed = []string{"A"} },
		"a gate is missing":           func(d *document.File) { d.GatesPending = nil },
		"a skipped gate is named":     func(d *document.File) { d.GatesPassed = []string{"approve (build)"} },
	} {
		broken := document.New(s)
		if breaks(&broken); !errors.Is(broken.Matches(s), document.ErrRules) {
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
		{state.Failure{Workstream: "A", Gate: "lint (A)", Message: "no"}, "A", "no"},
		{state.Failure{Gate: "approve (build)", Message: "no"}, "build", "no"},
		{state.Failure{}, "checkpoint", "failed"},
	} {
		d := document.New(after(t, state.SessionFailed{Error: tt.failure}))
		checkpointtest.Must(t, d.Validate(nil))
		if d.Error == nil || d.Error.Workstream != tt.workstream || d.Error.Message != tt.message {
			t.Errorf("%+v: %+v", tt.failure, d.Error)
		}
	}
}

// small is a pipeline of two phases.
func small() state.Shape {
	return state.Shape{Phases: []state.PhaseShape{
		{Name: "build", Gates: []string{"approve"}, Workstreams: []state.WorkstreamShape{{Name: "A", Gates: []string{"lint"}}, {Name: "B"}}},
		{Name: "ship", Workstreams: []state.WorkstreamShape{{Name: "C", Once: true}}},
	}}
}

// after returns the state of a session of the small pipeline after some events.
func after(t *testing.T, events ...state.Event) *state.State {
	t.Helper()
	s := &state.State{}
	events = append([]state.Event{checkpointtest.Started("S1", small())}, events...)
	checkpointtest.Must(t, s.Apply(state.Commit{Seq: 1, Time: checkpointtest.Clock()(), Events: events}))
	return s
}
