package state_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestWrittenDocumentOfAPipeline: a document that people write names each workstream and
// gate of the pipeline, and no other. A gate is named with or without its owner.
func TestWrittenDocumentOfAPipeline(t *testing.T) {
	t.Parallel()
	const whole = `"prd": "PRD-009", "timestamp": "2025-12-11", "status": "paused", "current_phase": 2, "completed_workstreams": ["A"], "pending_workstreams": ["B", "C"], "gates_passed": ["lint"], "gates_pending": ["approve (build)"]`
	replaced := func(old, by string) string { return strings.Replace(whole, old, by, 1) }
	for written, want := range map[string]string{
		whole:                                   "",
		replaced(`phase": 2`, `phase": 3`):      "current_phase must be at most 2, the number of phases of the pipeline, not 3",
		replaced(`["A"]`, `["A", "X"]`):         `the pipeline has no workstream "X"`,
		replaced(`, "C"]`, `]`):                 `workstream "C" of the pipeline is missing`,
		replaced(`["A"]`, `"A"`):                "completed_workstreams is a text, not a list",
		replaced(`["B", "C"]`, `["B", 5, "C"]`): "pending_workstreams[1] is a number, not a text",
		replaced(`["lint"]`, `[]`):              `gate "lint (A)" of the pipeline is missing`,
		replaced(`["lint"]`, `["lint (B)"]`):    `the pipeline has no gate "lint (B)"`,
		replaced(`["lint"]`, `true`):            "gates_passed is true, not a list",
		replaced(`"PRD-009"`, `"PRD-0099"`):     "prd must match PRD-009",
		replaced(`"2025-12-11"`, `5`):           "timestamp is a number, not a text",
	} {
		d, err := state.DecodeDocument([]byte("{" + written + "}"))
		checkpointtest.Must(t, err)
		shape := smallShape()
		var broken *state.DocumentRulesError
		switch err := d.CheckWritten("PRD-009", &shape); {
		case want == "":
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, d.CheckWritten("PRD-009", nil))
		case !errors.As(err, &broken) || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", written, err, want)
		case !strings.Contains(want, "lint") && len(broken.Violations) != 1:
			t.Errorf("%s: more is said: %v", written, err)
		}
	}
	d, err := state.DecodeDocument([]byte(`[]`))
	checkpointtest.Must(t, err)
	shape, broken := smallShape(), &state.DocumentRulesError{}
	if err := d.CheckWritten("PRD-009", &shape); !errors.As(err, &broken) || len(broken.Violations) != 1 {
		t.Errorf("of a list only one thing is said: %v", err)
	}
}

// TestWrittenStatusAndReview: rules about the status and the review of a document.
func TestWrittenStatusAndReview(t *testing.T) {
	t.Parallel()
	failed := func(e *state.DocumentError) state.Document {
		return state.Document{Status: state.StatusFailed, Error: e}
	}
	reviewed := func(r state.AdversarialReview) state.Document {
		return state.Document{Status: state.StatusPaused, Notes: state.Notes{Review: &r}}
	}
	for name, tt := range map[string]struct {
		document state.Document
		want     string
	}{
		"failed":                     {failed(&state.DocumentError{Workstream: "A", Message: "no"}), ""},
		"failed without an error":    {failed(nil), "an error with workstream and message"},
		"failed without workstream":  {failed(&state.DocumentError{Message: "no"}), "an error with workstream and message"},
		"failed without message":     {failed(&state.DocumentError{Workstream: "A"}), "an error with workstream and message"},
		"failed, and works on":       {state.Document{Status: state.StatusFailed, Error: &state.DocumentError{Workstream: "A", Message: "no"}, InProgress: []string{"A"}}, "nothing is in progress"},
		"reviewed once":              {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 1}), ""},
		"reviewed twice":             {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 2}), ""},
		"reviewed three times":       {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 3}), "attempt must be 1 or 2"},
		"overridden":                 {reviewed(state.AdversarialReview{Verdict: state.VerdictOverridden, OverrideReason: "late", Attempt: 1}), ""},
		"overridden without reason":  {reviewed(state.AdversarialReview{Verdict: state.VerdictOverridden, Attempt: 1}), "override_reason"},
		"a negative count":           {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 1, P0Count: -1}), "counts must not be negative"},
		"a negative count of others": {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 1, P1Count: -1}), "counts must not be negative"},
	} {
		d := tt.document
		d.PRD, d.Timestamp = "PRD-1", "2025-12-11T10:00:00Z"
		if err := d.CheckWritten("PRD-1", nil); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestKnownActs: work that must happen only once is known to have happened if it is done,
// and perhaps if it is uncertain or runs.
func TestKnownActs(t *testing.T) {
	t.Parallel()
	uncertain := state.WorkstreamUncertain{Workstream: "C", Error: state.Failure{Message: "unknown"}}
	for name, tt := range map[string]struct {
		events []state.Event
		want   string
	}{
		"nothing has begun":        {want: ""},
		"it runs":                  {[]state.Event{start("C", 1)}, "maybe"},
		"it is uncertain":          {[]state.Event{start("C", 1), uncertain}, "maybe"},
		"it may be one of before":  {[]state.Event{uncertain}, "maybe"},
		"it is done":               {[]state.Event{start("C", 1), done("C")}, "done"},
		"it failed":                {[]state.Event{start("C", 1), state.WorkstreamFailed{Workstream: "C"}}, ""},
		"it was done by hand":      {[]state.Event{start("C", 1), uncertain, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedDone}}, "done"},
		"it has not happened":      {[]state.Event{start("C", 1), uncertain, state.WorkstreamResolved{Workstream: "C", Resolution: state.ResolvedRerun}}, ""},
		"another one may run anew": {[]state.Event{start("A", 1), done("A"), start("B", 1)}, ""},
	} {
		f := &fold{T: t, State: &state.State{}}
		f.apply(small("S1"))
		f.apply(tt.events...)
		var got []string
		for _, a := range f.KnownActs() {
			is := "done"
			if a.Uncertain {
				is = "maybe"
			}
			got = append(got, is)
			if a.Workstream != "C" || a.Session != "S1" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		checkpointtest.Same(t, name, strings.Join(got, " "), tt.want)
	}
}

// TestFirstCommit: the commits of a session that begins from a complete one are numbered
// on from that one.
func TestFirstCommit(t *testing.T) {
	t.Parallel()
	from := small("S2")
	from.From = &state.State{Session: "S1", Seq: 7, Phases: []*state.Phase{}}
	for want, events := range map[uint64][]state.Event{8: {from}, 1: {small("S1")}} {
		checkpointtest.Same(t, "the first commit", (&state.Commit{Events: events}).FirstSeq(), want)
	}
	for _, c := range []state.Commit{{}, {Events: []state.Event{start("A", 1)}}} {
		checkpointtest.Same(t, "the first commit", c.FirstSeq(), 1)
	}
	try := func(seq uint64, e state.Event) error {
		return new(state.State).Apply(state.Commit{Seq: seq, Time: time.UnixMilli(1), Events: []state.Event{e}})
	}
	checkpointtest.Must(t, try(8, from))
	broken := from
	broken.From = &state.State{Seq: 7, Phases: []*state.Phase{nil}}
	var version *state.VersionError
	newer := small("S1")
	newer.FormatVersion = "99.0"
	if err := try(9, from); !errors.Is(err, state.ErrFold) {
		t.Errorf("a commit is missing: %v", err)
	}
	if err := try(8, broken); !errors.Is(err, state.ErrFold) {
		t.Errorf("from a state without a structure: %v", err)
	}
	if err := try(1, newer); !errors.As(err, &version) {
		t.Errorf("of a newer version: %v", err)
	}
}

// TestEventsThatDoNotFit: an event about something that the state does not have is
// refused.
func TestEventsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, e := range []state.Event{
		small("S2"),
		state.PhaseStarted{Phase: "none"}, state.PhaseCompleted{Phase: "none"}, state.PhaseSkipped{Phase: "none"},
		start("none", 1), state.WorkstreamUncertain{Workstream: "none"}, state.GateStarted{Gate: "none"},
		state.CheckpointPinned{ID: "none"}, state.CheckpointUnpinned{ID: "none"}, state.CheckpointDamaged{ID: "none"}, state.CheckpointRebuilt{ID: "none"},
		state.RollbackFailed{ID: "none"}, state.HookEnded{Event: "complete", Hook: 1},
	} {
		if err := newFold(t).try(e); !errors.Is(err, state.ErrFold) {
			t.Errorf("%s: %v", e.Kind(), err)
		}
	}
}
