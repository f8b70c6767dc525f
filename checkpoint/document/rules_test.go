package document_test

import (
	"errors"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
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
		d, err := document.Decode([]byte("{" + written + "}"))
		checkpointtest.Must(t, err)
		shape := small()
		var broken *document.RulesError
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
	d, err := document.Decode([]byte(`[]`))
	checkpointtest.Must(t, err)
	shape, broken := small(), &document.RulesError{}
	if err := d.CheckWritten("PRD-009", &shape); !errors.As(err, &broken) || len(broken.Violations) != 1 {
		t.Errorf("of a list only one thing is said: %v", err)
	}
}

// TestWrittenStatusAndReview: rules about the status and the review of a document.
func TestWrittenStatusAndReview(t *testing.T) {
	t.Parallel()
	failed := func(e *state.DocumentError) document.File {
		return document.File{Document: state.Document{Status: state.StatusFailed, Error: e}}
	}
	reviewed := func(r state.AdversarialReview) document.File {
		return document.File{Document: state.Document{Status: state.StatusPaused, Notes: state.Notes{Review: &r}}}
	}
	for name, tt := range map[string]struct {
		file document.File
		want string
	}{
		"failed":                     {failed(&state.DocumentError{Workstream: "A", Message: "no"}), ""},
		"failed without an error":    {failed(nil), "an error with workstream and message"},
		"failed without workstream":  {failed(&state.DocumentError{Message: "no"}), "an error with workstream and message"},
		"failed without message":     {failed(&state.DocumentError{Workstream: "A"}), "an error with workstream and message"},
		"failed, and works on":       {document.File{Document: state.Document{Status: state.StatusFailed, Error: &state.DocumentError{Workstream: "A", Message: "no"}, InProgress: []string{"A"}}}, "nothing is in progress"},
		"reviewed once":              {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 1}), ""},
		"reviewed twice":             {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 2}), ""},
		"reviewed three times":       {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 3}), "attempt must be 1 or 2"},
		"overridden":                 {reviewed(state.AdversarialReview{Verdict: state.VerdictOverridden, OverrideReason: "late", Attempt: 1}), ""},
		"overridden without reason":  {reviewed(state.AdversarialReview{Verdict: state.VerdictOverridden, Attempt: 1}), "override_reason"},
		"a negative count":           {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 1, P0Count: -1}), "counts must not be negative"},
		"a negative count of others": {reviewed(state.AdversarialReview{Verdict: state.VerdictShip, Attempt: 1, P1Count: -1}), "counts must not be negative"},
	} {
		d := tt.file
		d.PRD, d.Timestamp = "PRD-1", "2025-12-11T10:00:00Z"
		if err := d.CheckWritten("PRD-1", nil); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
