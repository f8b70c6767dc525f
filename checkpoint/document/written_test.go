package document_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/document"
)

// TestWrittenDocument: what does not fit the format is a mistake with its line, and the
// rest is read.
func TestWrittenDocument(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		`{"prd": 5}`:                                    "prd is a number, not a text",
		`{"current_phase": 1.5}`:                        "current_phase is 1.5, not a whole number",
		`{"current_phase": "1"}`:                        "current_phase is a text, not a whole number",
		`{"completed_workstreams": "A"}`:                "completed_workstreams is a text, not a list",
		`{"completed_workstreams": ["A", null]}`:        "completed_workstreams[1] is null, not a text",
		`{"completed_workstreams": ["A", 1]}`:           "completed_workstreams[1] is a number, not a text",
		`{"artifacts": []}`:                             "artifacts is a list, not an object",
		`{"artifacts": {"A": {}}}`:                      "artifacts.A is an object, not a list",
		`{"error": true}`:                               "error is true, not an object",
		`{"complete_workstreams": []}`:                  `complete_workstreams is no field of the format; did you mean "completed_workstreams"?`,
		`{"zzzzzzzzzzzz": []}`:                          "zzzzzzzzzzzz is no field of the format",
		`null`:                                          "the document is null, not an object",
		`[]`:                                            "the document is a list, not an object",
		`{"prd": null, "completed_workstreams": ["A"]}`: "",
	} {
		d, err := document.Decode([]byte(written))
		checkpointtest.Must(t, err)
		got := ""
		if err := d.FirstMistake(); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", written, got, want)
		}
		if strings.Contains(written, `["A"`) && (len(d.Completed) == 0 || d.Completed[0] != "A") {
			t.Errorf("%s: read %q", written, d.Completed)
		}
	}
	d, err := document.Decode([]byte(`null`))
	checkpointtest.Must(t, err)
	if got := d.Validate(nil).Error(); strings.Contains(got, "prd") {
		t.Errorf("nothing is said about fields of no document: %s", got)
	}
}
