package document_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
)

// TestImportedRules: each rule of the part of a document that another tool's checkpoint
// gives is reported, with its line.
func TestImportedRules(t *testing.T) {
	t.Parallel()
	shape := state.Shape{Phases: []state.PhaseShape{{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "a"}, {Name: "b"}}}}}
	written := func(imported string) string {
		return `{"prd": "PRD-001", "prd_title": "", "current_phase": 1, "status": "paused",
"completed_workstreams": ["a"], "in_progress_workstreams": [], "pending_workstreams": ["b"],
"artifacts": {}, "gates_passed": [], "gates_pending": [], "timestamp": "2026-01-02",
"imported": ` + imported + `}`
	}
	for imported, want := range map[string]string{
		`{"format": "crunch", "metrics": {"a": 1.5, "b": true, "c": "x"}}`: "",
		`{}`:                                    "line 4: imported needs a format",
		`{"format": "x", "created_at": "soon"}`: `imported.created_at must be an ISO 8601 time, not "soon"`,
		`{"format": "x", "phase_started_at": "soon"}`:                 `imported.phase_started_at must be an ISO 8601 time, not "soon"`,
		`{"format": "x", "phase_attempt": -1}`:                        "imported.phase_attempt must not be negative",
		`{"format": "x", "iteration_count": -1}`:                      "imported.iteration_count must not be negative",
		`{"format": "x", "results": {"b": {}}}`:                       "imported.results.b is the result of a workstream that is not completed",
		`{"format": "x", "results": {"a": {"completed_at": "soon"}}}`: `imported.results.a.completed_at must be an ISO 8601 time, not "soon"`,
		`{"format": "x", "metrics": {"m": []}}`:                       "imported.metrics.m is a list, not a number, a text, true or false",
		`{"format": "x", "metrics": {"m": null}}`:                     "imported.metrics.m must be a number, a text, true or false",
		`{"format": "x", "uncertain": ["a"]}`:                         `imported.uncertain[0] is "a", which is not pending or in progress`,
		`{"format": "x", "issue": {"number": 1}}`:                     "imported.issue needs a title",
		`{"format": "x", "result": {}}`:                               `imported.result is no field of the format; did you mean "results"?`,
		`{"format": "x", "phase_attempt": true}`:                      "imported.phase_attempt is true, not a whole number",
	} {
		d, err := document.Decode([]byte(written(imported)))
		if err == nil {
			err = d.CheckWritten("PRD-001", &shape)
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", imported, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", imported, err, want)
		}
	}
}
