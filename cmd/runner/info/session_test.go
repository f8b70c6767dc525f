package info

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
)

// TestNextAction holds for each status what a person is told to type next.
func TestNextAction(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	past := now.Add(-time.Minute)
	const resume = "runner build PRD-009 --resume"
	asked := func(expires *time.Time) *state.Gate {
		return &state.Gate{Label: "sign-off (WS1)", Status: state.Waiting, ExpiresAt: expires}
	}
	with := func(status state.Status, ws state.StepStatus, gates ...*state.Gate) *state.State {
		return &state.State{Status: status, Phases: []*state.Phase{{
			Name: "one", Workstreams: []*state.Workstream{{Name: `service["a"]`, Status: ws, Gates: gates}},
		}}}
	}
	failed := with(state.StatusFailed, state.Failed)
	failed.Error = &state.Failure{Workstream: `service["a"]`, Log: "x.log"}
	killed := with(state.StatusInProgress, state.Running)
	killed.RunningAt = &past
	once := killed.Clone()
	once.Phases[0].Workstreams[0].Once = true
	stopped := with(state.StatusPaused, state.Failed, asked(nil))
	stopped.Phases[0].Workstreams[0].Error, stopped.Interrupted = failed.Error, "SIGINT"
	spent := stopped.Clone()
	spent.Interrupted, spent.Pause = "", &state.Pause{Reason: state.PauseBudget}
	abandoned := with(state.StatusPaused, state.Pending)
	abandoned.Abandoned = true
	tests := []struct {
		name  string
		snap  checkpoint.Snapshot
		words string
		want  []string
	}{
		{"initialized", checkpoint.Snapshot{Current: reader.Current{State: with(state.StatusInitialized, state.Pending)}}, "initialized", []string{resume}},
		{"running", checkpoint.Snapshot{Current: reader.Current{State: killed}, Owner: &disk.Holder{}}, "in_progress", []string{"runner watch PRD-009", "runner logs PRD-009 -f"}},
		{"killed", checkpoint.Snapshot{Current: reader.Current{State: killed}}, "killed", []string{resume}},
		{"killed in what must happen only once", checkpoint.Snapshot{Current: reader.Current{State: once}}, "killed",
			[]string{`runner resolve PRD-009 'service["a"]' --done`, `runner resolve PRD-009 'service["a"]' --rerun`, resume}},
		{"paused", checkpoint.Snapshot{Current: reader.Current{State: with(state.StatusPaused, state.Pending)}}, "paused", []string{resume}},
		{"interrupted after a failure", checkpoint.Snapshot{Current: reader.Current{State: stopped}}, "paused (interrupted)",
			[]string{`runner logs PRD-009 'service["a"]'`, "runner approve PRD-009 'sign-off (WS1)'", resume}},
		{"without a budget after a failure", checkpoint.Snapshot{Current: reader.Current{State: spent}}, "paused",
			[]string{`runner logs PRD-009 'service["a"]'`, resume + " --raise-budget"}},
		{"abandoned", checkpoint.Snapshot{Current: reader.Current{State: abandoned}}, "paused (abandoned)", []string{resume}},
		{"waiting", checkpoint.Snapshot{Current: reader.Current{State: with(state.StatusPaused, state.Succeeded, asked(nil))}}, "paused",
			[]string{"runner approve PRD-009 'sign-off (WS1)'", resume}},
		{"expired", checkpoint.Snapshot{Current: reader.Current{State: with(state.StatusPaused, state.Succeeded, asked(&past))}}, "paused", []string{resume}},
		{"uncertain", checkpoint.Snapshot{Current: reader.Current{State: with(state.StatusPaused, state.Uncertain)}}, "paused",
			[]string{`runner resolve PRD-009 'service["a"]' --done`, `runner resolve PRD-009 'service["a"]' --rerun`, resume}},
		{"failed", checkpoint.Snapshot{Current: reader.Current{State: failed}}, "failed", []string{`runner logs PRD-009 'service["a"]'`, resume}},
		{"complete", checkpoint.Snapshot{Current: reader.Current{State: with(state.StatusComplete, state.Completed)}}, "complete", []string{}},
		{"written by hand", checkpoint.Snapshot{Current: reader.Current{Document: &document.File{Document: state.Document{Status: state.StatusPaused}}}}, "paused (written by hand)", []string{resume}},
	}
	for _, tt := range tests {
		s := NewSessionStatus(advice.CommandLine{}, now, "PRD-009", &tt.snap)
		if diff := cmp.Diff(state.Texts(tt.want), s.Next); diff != "" {
			t.Errorf("%s: next (-want +got):\n%s", tt.name, diff)
		}
		if s.StatusText() != tt.words {
			t.Errorf("%s: %q, want %q", tt.name, s.StatusText(), tt.words)
		}
	}
}

// TestStatusNamesEveryFailure: what failed beside what ended the session is named
// too, each failure once, and not without end.
func TestStatusNamesEveryFailure(t *testing.T) {
	t.Parallel()
	failure := func(name, gate string) *state.Failure {
		return &state.Failure{Workstream: name, Gate: gate, Message: "no"}
	}
	phase := &state.Phase{Name: "one", Workstreams: []*state.Workstream{
		{Name: "WS1", Status: state.Failed, Error: failure("WS1", "")},
		{Name: "WS2", Status: state.Failed, Error: failure("WS2", "")},
		{Name: "WS3", Status: state.Completed, Error: failure("WS3", "")},
		{Name: "WS4", Status: state.Succeeded, Gates: []*state.Gate{{Status: state.Failed, Error: failure("WS4", "lint (WS4)")}}},
	}, Gates: []*state.Gate{{Status: state.Failed, Error: failure("one", "sign-off (one)")}, {Status: state.Passed, Error: failure("one", "old")}}}
	st := &state.State{Status: state.StatusFailed, Error: failure("WS2", ""), Phases: []*state.Phase{phase}}
	told := func() []string {
		return NewSessionStatus(advice.CommandLine{}, time.Time{}, "PRD-009", &checkpoint.Snapshot{Current: reader.Current{State: st}}).failureLines(advice.CommandLine{}, 10)
	}
	if diff := cmp.Diff([]string{"WS2: no", "WS1: no", "lint (WS4): no", "sign-off (one): no"}, told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range 20 {
		if lines := told(); i == 6 && len(lines) != 10 {
			t.Errorf("of 10 failures it names %q", lines)
		}
		name := fmt.Sprint("more", i)
		phase.Workstreams = append(phase.Workstreams, &state.Workstream{Name: name, Status: state.Failed, Error: failure(name, "")})
	}
	if lines := told(); len(lines) != 11 || lines[10] != "and 14 more; `runner status PRD-009 --failed` lists them" {
		t.Errorf("of 24 failures it names %q", lines)
	}
}
