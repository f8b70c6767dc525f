package main

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
)

// TestHintForWhatIsNotUncertain: for a workstream in any other state, resolve names the
// command that works for it.
func TestHintForWhatIsNotUncertain(t *testing.T) {
	t.Parallel()
	const resume = "build PRD-001 -f x.hcl --resume --var a=b"
	const continues, again = "`runner " + resume + "` goes on with it", "`runner " + resume + " --invalidate WS1` runs it again"
	for _, test := range []struct {
		status state.StepStatus
		once   bool
		want   string // the hint; "": the workstream can be resolved
	}{
		{state.Uncertain, false, ""},
		{state.Running, true, ""}, // its runner was killed
		{state.Running, false, continues},
		{state.Pending, true, continues},
		{state.Failed, false, continues},
		{state.Interrupted, false, continues},
		{state.Completed, false, again},
		{state.Succeeded, false, again},
		{state.Completed, true, "`runner " + resume + " --repeat WS1` runs it again"},
		{state.Skipped, false, "`runner plan PRD-001 -f x.hcl --resume --var a=b` says why it is skipped"},
	} {
		st := &state.State{PRD: "PRD-001", Phases: []*state.Phase{{Workstreams: []*state.Workstream{{Name: "WS1", Status: test.status, Once: test.once}}}}}
		err := checkUncertain(st, "WS1", resume)
		if got := advice.Of(advice.CommandLine{}, "", err); got != test.want || (err == nil) != (test.want == "") {
			t.Errorf("%s, once %t: %v with the hint %q, want %q", test.status, test.once, err, got, test.want)
		}
	}
}
