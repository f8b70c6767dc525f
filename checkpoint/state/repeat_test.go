package state_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestComparableResults: what a line of the pipeline says may move to another line, and is no other
// result; an error in another line of a program is one.
func TestComparableResults(t *testing.T) {
	t.Parallel()
	results := func(line int, log string) string {
		f := &state.Failure{Gate: "good (code)", Message: "no", File: "main.go", Line: line, Column: 3, Log: state.Text(log)}
		gate := &state.Gate{Label: "good (code)", Status: state.Failed, Error: f}
		work := &state.Workstream{Name: "code", Status: state.Succeeded, Artifacts: []state.Artifact{{Path: "out", Digest: "sha256:1"}}, Gates: []*state.Gate{gate}}
		st := &state.State{}
		return st.ComparableResults(&state.Phase{Name: "loop", Workstreams: []*state.Workstream{work}}, false)
	}
	if results(1, "") != results(2, "") {
		t.Error("a condition that moved to another line of the pipeline is another result")
	}
	if results(1, "good.1.log") == results(2, "good.1.log") {
		t.Error("an error in another line of a program is the same result")
	}
	if results(1, "good.1.log") != results(1, "good.2.log") {
		t.Error("the log of another attempt is another result")
	}
}
