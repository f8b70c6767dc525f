package show_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// statusOf returns the status of a session at the twentieth minute.
func statusOf(st *state.State, owner *disk.Holder, change func(*info.SessionStatus)) info.SessionStatus {
	s := info.NewSessionStatus(cmdline, at(20), "PRD-009", &checkpoint.Snapshot{Current: reader.Current{State: st}, Owner: owner})
	if change != nil {
		change(&s)
	}
	return s
}

// busy returns a session in which something is running, waiting, failed and uncertain.
func busy() *state.State {
	st := session(state.StatusInProgress)
	st.Title, st.RunningAt = "two\nlines", pointer(at(1))
	st.BeganFrom = &state.Predecessor{Session: "s0", At: at(0)}
	first := st.Phases[0].Workstreams[0]
	first.DurationMS, first.Attempts = 90_000, 2
	first.Gates = []*state.Gate{{Label: "lint (WS1)", Status: state.Passed}, {Label: "review (WS1)", Status: state.Waiting, Message: "Ship?", Approvers: []string{"ana", "bob"}, ExpiresAt: pointer(at(25))}}
	st.Phases[0].Gates = []*state.Gate{{Label: "sign-off (database)", Status: state.Running}, {Label: "look (database)", Status: state.Passed, Review: true}}
	st.Phases[1].Workstreams = []*state.Workstream{
		{Name: "late", Status: state.Running, StartedAt: pointer(at(19)), Once: true}, {Name: "early", Status: state.Running, StartedAt: pointer(at(10))},
		{Name: "again", Status: state.Running, Attempts: 1, RetryAt: pointer(at(21)), Error: &state.Failure{Message: "no"}}, {Name: "due", Status: state.Running, Attempts: 1, RetryAt: pointer(at(20))},
		{Name: "failed", Status: state.Failed, Error: &state.Failure{Workstream: "failed", Message: "no"}}, {Name: "deploy", Status: state.Uncertain}, {Name: "skipped", Status: state.Skipped},
		{Name: "reused", Status: state.Completed, Session: "0123456789abcdef", EndedAt: pointer(at(3))}, {Name: "undated", Status: state.Completed, Session: "0123456789abcdef"},
		{Name: "stale", Status: state.Pending, Session: "0123456789abcdef", EndedAt: pointer(at(3))},
		{Name: "cached", Status: state.Completed, Cached: &state.Cached{Session: "fedcba9876543210", At: at(4)}}, {Name: "once cached", Status: state.Running, Cached: &state.Cached{}},
	}
	st.LastGate = "lint (WS1)"
	st.Checkpoints, st.Current = []*state.CheckpointRef{ref("C1", 1, "WS1")}, "C1"
	return st
}

// TestStatusAnswers compares what is said of sessions with a file in testdata.
func TestStatusAnswers(t *testing.T) {
	t.Parallel()
	owner := &disk.Holder{Actor: state.Actor{User: "ana", Host: "build-1", PID: 42}, Since: at(1)}
	paused := session(state.StatusPaused)
	paused.Interrupted, paused.Pause = "SIGINT", &state.Pause{Reason: state.PauseApproval, Gates: []string{"sign-off (WS1)"}}
	paused.Phases[1].Gates = []*state.Gate{{Label: "old (services)", Status: state.Waiting, ExpiresAt: pointer(at(20))}}
	new1 := session(state.StatusInitialized)
	new1.CurrentPhase = 0
	past := session(state.StatusPaused)
	past.CurrentPhase = 3
	failed := session(state.StatusFailed)
	failed.Error = &state.Failure{Workstream: "WS1", Gate: "lint (WS1)", Message: "no", Log: "x.log"}
	failed.Hooks = &state.Hooks{Event: "failure", Hooks: 3, Ended: 1}
	cut := session(state.StatusPaused)
	cut.Rollback = &state.RollbackStarted{To: "C1", Scope: state.RollbackFiles}
	takenBack := []rollback.TakenBack{{PRD: "PRD-010", At: at(7), Safety: "C9", Files: paths[state.Text](6)}, {PRD: "PRD-011", At: at(8), Files: paths[state.Text](1)}}
	statuses := []struct {
		name string
		s    info.SessionStatus
	}{
		{"running", statusOf(busy(), owner, nil)}, {"killed", statusOf(busy(), nil, func(s *info.SessionStatus) {
			s.Alive = []info.AliveProcess{{PID: 7, Workstream: "late"}, {PID: 8}}
		})},
		{"new", statusOf(new1, nil, nil)}, {"past its phases", statusOf(past, nil, nil)}, {"paused", statusOf(paused, nil, nil)}, {"failed", statusOf(failed, nil, nil)},
		{"owned, with hooks", statusOf(failed, owner, nil)},
		{"complete", statusOf(session(state.StatusComplete), nil, nil)},
		{"stale", statusOf(session(state.StatusComplete), nil, func(s *info.SessionStatus) { s.AddTakenBack(cmdline, takenBack) })},
		{"paused, with artifacts taken back", statusOf(session(state.StatusPaused), nil, func(s *info.SessionStatus) { s.AddTakenBack(cmdline, takenBack) })},
		{"not stale", statusOf(session(state.StatusComplete), nil, func(s *info.SessionStatus) { s.AddTakenBack(cmdline, nil) })},
		{"rolled back in part", statusOf(cut, nil, func(s *info.SessionStatus) {
			s.Finishes = &info.UnfinishedRollbackReport{To: "C1", Edited: paths[state.Text](6), Refused: "x is checked out"}
		})},
		{"rolled back in part, five files", statusOf(cut, nil, func(s *info.SessionStatus) { s.Finishes = &info.UnfinishedRollbackReport{Edited: paths[state.Text](5)} })},
		{"rolled back in part, no files", statusOf(cut, nil, func(s *info.SessionStatus) { s.Finishes = &info.UnfinishedRollbackReport{} })},
		{"rolling back", statusOf(cut, owner, nil)},
		{"unclean", info.NewSessionStatus(cmdline, at(20), "PRD-009", &checkpoint.Snapshot{
			Current: reader.Current{State: session(state.StatusPaused), Import: &disk.PendingImport{Archive: "a.tar"}, TornBytes: 5, RescuePath: "/tmp/rescue"},
		})},
		{"importing", info.NewSessionStatus(cmdline, at(20), "PRD-009", &checkpoint.Snapshot{Current: reader.Current{Import: &disk.PendingImport{}}, Owner: owner})},
		{"written by hand", info.NewSessionStatus(cmdline, at(20), "PRD-009", &checkpoint.Snapshot{Current: reader.Current{Document: &document.File{Document: state.Document{
			Status: state.StatusFailed, CurrentPhase: 2, Error: &state.DocumentError{Workstream: "WS1", Message: "no", File: "a.go", Line: 3},
		}}}})},
		{"damaged", info.DamagedSessionStatus(cmdline, "PRD-009", errors.New("no: `runner x`"))},
	}
	var answers []answer
	var table []info.SessionStatus
	for _, each := range statuses {
		table = append(table, each.s)
		answers = append(answers, answer{each.name, func(w io.Writer) error { return show.Status(w, cmdline, each.s, show.StatusOptions{Now: at(20)}) }}, asJSON(each.name, each.s))
	}
	shown := func(name string, s info.SessionStatus, o show.StatusOptions) answer {
		o.Now = at(20)
		return answer{name, func(w io.Writer) error { return show.Status(w, cmdline, s, o) }}
	}
	large := statusOf(many(), nil, nil)
	answers = append(answers,
		inColour(shown("running", statuses[0].s, show.StatusOptions{})),
		shown("larger than the screen", large, show.StatusOptions{Rows: 40}), inColour(shown("larger than the screen", large, show.StatusOptions{Rows: 40})),
		shown("much larger than the screen", large, show.StatusOptions{Rows: 20}), shown("on a large screen", large, show.StatusOptions{Rows: 200}),
		shown("on a large screen that is narrow", large, show.StatusOptions{Rows: 200, Columns: 12}), inColour(shown("on a screen as wide as the lines", large, show.StatusOptions{Rows: 200, Columns: 100})),
		shown("what failed", large, show.StatusOptions{Failed: true}), shown("a phase", large, show.StatusOptions{Phase: "sum"}),
		shown("nothing failed", statusOf(session(state.StatusPaused), nil, nil), show.StatusOptions{Failed: true}), asJSON("larger than the screen", large.Outdated),
	)
	compareAnswers(t, "status.txt", append(answers, answer{"all", func(w io.Writer) error { return show.StatusTable(w, at(20), table) }}, asJSON("none", info.NewStatusTableReport(nil))))
	if got := statusOf(paused, nil, nil).NextWith(advice.CommandLine{}, at(20), " --var a=b"); len(got) != 1 || got[0] != "runner build PRD-009 --resume --var a=b" {
		t.Errorf("with a variable, what is next is %q", got)
	}
	if got := info.PendingHooks(nil); got != "" {
		t.Errorf("without hooks: %q", got)
	}
}

// many returns a failed session with more workstreams than fit on a screen.
func many() *state.State {
	st := session(state.StatusFailed)
	st.CurrentPhase = 1
	first, second := &state.Phase{Name: "parts", Status: state.Failed}, &state.Phase{Name: "sum", Status: state.Pending}
	for i := range 30 {
		name := fmt.Sprintf("part[%q]", fmt.Sprint(30-i))
		w := &state.Workstream{Name: name, Status: state.Completed, Attempts: 1, DurationMS: 80_000, Gates: []*state.Gate{{Label: "check (" + name + ")", Status: state.Passed}}}
		switch i {
		case 3: // it failed after it had succeeded in an earlier run
			w.Status, w.StartedAt, w.EndedAt, w.Attempts, w.Gates[0].Status = state.Failed, pointer(at(1)), pointer(at(2)), 2, state.Pending
			w.Error = &state.Failure{Workstream: name, Message: "no", Log: "x.log"}
			w.Artifacts = []state.Artifact{{Path: "27.txt", Digest: "sha256:1"}}
		case 4:
			w.Gates[0] = &state.Gate{Label: "check (" + name + ")", Status: state.Failed, Error: &state.Failure{Workstream: name, Gate: "check (" + name + ")", Message: "bad", Log: "y.log"}}
			w.Status = state.Succeeded
		case 5:
			w.Session, w.EndedAt = "0123456789abcdef", pointer(at(3))
		case 6:
			w.Gates[0].Status, w.Status = state.Waiting, state.Succeeded
		}
		first.Workstreams = append(first.Workstreams, w)
	}
	for i := range 12 {
		second.Workstreams = append(second.Workstreams, &state.Workstream{Name: fmt.Sprintf("later[%q]", fmt.Sprint(i)), Status: state.Pending})
	}
	second.Workstreams = append(second.Workstreams, &state.Workstream{Name: "sum", Status: state.Completed, DurationMS: 10, Digest: state.Digest{Files: []state.FileRef{{Path: "27.txt", Digest: "sha256:1"}}}})
	st.Phases = []*state.Phase{first, second}
	st.Error = first.Workstreams[3].Error
	return st
}

// TestLastPassedGate: a verdict that no longer holds is not named.
func TestLastPassedGate(t *testing.T) {
	t.Parallel()
	for status, want := range map[state.StepStatus]string{state.Passed: "lint (WS1)", state.Pending: ""} {
		st := busy()
		st.Phases[0].Workstreams[0].Gates[0].Status = status
		if got := info.LastPassedGate(st); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
	st := busy()
	st.LastGate = "removed"
	if got := info.LastPassedGate(st); got != "" {
		t.Errorf("without the gate: %q", got)
	}
}
