package show_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// TestFailuresOfTheRun: the failures of the run that is on are those since its owner took the lock,
// even if another command has recorded an event since, which moves RunningAt.
func TestFailuresOfTheRun(t *testing.T) {
	t.Parallel()
	moved, ended := at(10), at(5)
	st := &state.State{PRD: "PRD-009", Status: state.StatusInProgress, RunningAt: &moved, Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{
		{Name: "a", Status: state.Failed, EndedAt: &ended, Error: &state.Failure{Workstream: "a", Message: "exit code 1"}},
		{Name: "b", Status: state.Completed, Gates: []*state.Gate{{Label: "g (b)", Status: state.Failed, At: &ended}}},
	}}}}
	for _, tt := range []struct {
		name  string
		since time.Time
		want  state.StepStatus
	}{
		{"of this run", at(1), state.Failed},
		{"of an earlier run", at(7), state.Pending},
	} {
		s := info.NewSessionStatus(cmdline, at(20), "PRD-009", &checkpoint.Snapshot{Current: reader.Current{State: st}, Owner: &disk.Holder{Since: tt.since}})
		of := s.Phases[0].Workstreams
		if of[0].Status != tt.want || of[1].Gates[0].Status != tt.want {
			t.Errorf("failures %s are shown as %s and %s, want %s", tt.name, of[0].Status, of[1].Gates[0].Status, tt.want)
		}
	}
}

// TestPauseAskedFor: the status of a run that is on tells that it will pause.
func TestPauseAskedFor(t *testing.T) {
	t.Parallel()
	began := at(1)
	st := &state.State{PRD: "PRD-009", Status: state.StatusInProgress, RunningAt: &began, Requested: &state.PauseAsked{By: state.Actor{User: "ana"}, Reason: "lunch"}}
	for _, owner := range []*disk.Holder{nil, {Since: began}} {
		s := info.NewSessionStatus(cmdline, at(20), "PRD-009", &checkpoint.Snapshot{Current: reader.Current{State: st}, Owner: owner})
		var text bytes.Buffer
		if err := show.Status(&text, cmdline, s, show.StatusOptions{Now: at(20)}); err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(text.String(), "asked by ana, at the next boundary: lunch\n")
		if on := owner != nil; told != on || (s.Requested != nil) != on {
			t.Errorf("with the owner %v the request is told: %v, and is in the JSON: %v", owner, told, s.Requested != nil)
		}
	}
}
