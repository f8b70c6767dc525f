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

// TestComparableResultsOfCalledOffWork: how often work that fails was tried before another step failed is
// no result. How it failed is one.
func TestComparableResultsOfCalledOffWork(t *testing.T) {
	t.Parallel()
	results := func(calledOff, message string) string {
		f := &state.Failure{Outcome: "exited", ExitCode: 1, Message: state.Text(message), CalledOff: state.Text(calledOff), Log: "code.1.log"}
		if calledOff != "" {
			f.Message = f.CalledOff + ": " + f.Message
		}
		work := &state.Workstream{Name: "code", Status: state.Failed, Artifacts: []state.Artifact{{Path: "out", Digest: "sha256:1"}}, Error: f}
		st := &state.State{}
		return st.ComparableResults(&state.Phase{Name: "loop", Workstreams: []*state.Workstream{work}}, false)
	}
	all := results("", "exit code 1")
	for _, calledOff := range []string{"1 of 3 attempts, not tried again, since lint failed", "2 of 3 attempts, not tried again, since vet failed"} {
		if results(calledOff, "exit code 1") != all {
			t.Errorf("%q is another result", calledOff)
		}
		if results(calledOff, "exit code 1: no such table") == all {
			t.Errorf("%q hides how it failed", calledOff)
		}
	}
}
