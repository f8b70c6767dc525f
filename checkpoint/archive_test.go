package checkpoint_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// finish completes the session that Fixture.Run began: phases 2 to 5, each with one
// workstream and its gate.
func finish(t *testing.T, x *checkpoint.Session) {
	t.Helper()
	gates := []string{"", "", "type-check", "lint", "type-check", "test-pass"}
	for i := 2; i <= 5; i++ {
		phase, ws := x.State().Phases[i-1].Name, x.State().Phases[i-1].Workstreams[0].Name
		if i > 2 {
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: phase})
		}
		checkpointtest.Commit(t, x, checkpointtest.Work(ws, gates[i])...)
		checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: phase})
	}
	checkpointtest.Commit(t, x, state.SessionCompleted{})
}

// TestStartArchivesWhatWasThere starts three sessions, of which only the first is
// complete, and abandons the third. Starting the next session must move a complete
// session with its logs to history/, and an incomplete one to failed/, without the files of
// a killed attempt. After Abandon
// there must be no session.
func TestStartArchivesWhatWasThere(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	finish(t, x)
	f.Write("PRD-009/logs/WS1.1.log", []byte("done"))
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier()))) // the first is complete
	if got := f.Read("PRD-009/history/S1/logs/WS1.1.log"); string(got) != "done" {
		t.Errorf("log %q", got)
	}
	f.Read("PRD-009/history/S1/PRD-009.json")
	f.Write("PRD-009/run/WS1.1.report", []byte("of a killed attempt"))
	last, _, err := f.Open().Reader().LastComplete("PRD-009")
	checkpointtest.Must(t, err)
	if last == nil || last.Session != "S1" {
		t.Errorf("last complete %+v", last)
	}

	checkpointtest.Must(t, x.Start(checkpointtest.Started("S3", checkpointtest.Cashier()))) // the second is not
	failed, err := f.FS.ReadDir(filepath.Join(f.Dir, "failed"))
	checkpointtest.Must(t, err)
	if len(failed) != 1 || !strings.HasPrefix(failed[0].Name(), "PRD-009-20251211T") {
		t.Fatalf("failed: %v", failed)
	}
	f.Read("failed/" + failed[0].Name() + "/journal.jsonl")
	for _, run := range []string{"failed/" + failed[0].Name() + "/run", "PRD-009/run/WS1.1.report"} {
		if there, err := store.Exists(f.FS, filepath.Join(f.Dir, run)); err != nil || there {
			t.Errorf("%s is there: %v, %v", run, there, err)
		}
	}
	f.Read("PRD-009/history/S1/journal.jsonl")

	at, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
	checkpointtest.Must(t, err)
	if !strings.Contains(at, "failed") || x.State() != nil {
		t.Errorf("abandoned to %s", at)
	}
	checkpointtest.Must(t, x.Close())
	if _, err := f.Open().Load("PRD-009"); !errors.Is(err, checkpoint.ErrNoSession) {
		t.Errorf("load: %v", err)
	}
}

// TestLastCompletePassesOverWhatCannotBeRead: LastComplete must skip a file in history/
// that is not a session, and report damaged sessions with a remedy. It must return the
// newest complete session that can be read.
func TestLastCompletePassesOverWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	finish(t, x)
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())))
	f.Write("PRD-009/history/.DS_Store", []byte("of a desktop"))
	s := f.Open()
	last, unread, err := s.Reader().LastComplete("PRD-009")
	checkpointtest.Must(t, err)
	if last == nil || last.Session != "S1" || len(unread) != 0 {
		t.Errorf("last complete %+v, unread %v", last, unread)
	}

	f.Write("PRD-009/history/S0/journal.jsonl", []byte("not a journal\n"))
	last, unread, err = s.Reader().LastComplete("PRD-009")
	checkpointtest.Must(t, err)
	if last == nil || last.Session != "S1" || len(unread) != 1 || filepath.Base(unread[0].Dir) != "S0" {
		t.Fatalf("last complete %+v, unread %v", last, unread)
	}
	var damaged *state.DamagedError
	if !errors.As(unread[0].Err, &damaged) || !strings.HasSuffix(damaged.Remedy, "rm -r "+unread[0].Dir) {
		t.Errorf("S0: %v", unread[0].Err)
	}
	f.Write("PRD-009/history/S1/journal.jsonl", []byte("not a journal either\n"))
	last, unread, err = s.Reader().LastComplete("PRD-009")
	checkpointtest.Must(t, err)
	if last != nil || len(unread) != 2 {
		t.Errorf("last complete %+v, unread %v", last, unread)
	}
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S3", checkpointtest.Cashier())))
	checkpointtest.Must(t, x.Close())
}

// TestArchiveCutShort makes each rename of an archiving fail. The next owner must finish
// the archiving: either the new session S3 or the old session S2 is current, and no
// archived session is lost.
func TestArchiveCutShort(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"PRD-009/PRD-009.json", "PRD-009.archiving", "PRD-009/history", "history/S2"} {
		bad := &faults.Faulty{FS: store.NewMemory(), Op: "rename", Part: part}
		f := checkpointtest.On(t, bad, "/ws/.runner")
		x := f.Run()
		finish(t, x)
		checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())))
		for i := range 5 {
			checkpointtest.Commit(t, x, state.PhaseSkipped{Phase: x.State().Phases[i].Name, Reason: "none"})
		}
		checkpointtest.Commit(t, x, state.SessionCompleted{})
		bad.On.Store(true)
		if err := x.Start(checkpointtest.Started("S3", checkpointtest.Cashier())); !errors.Is(err, faults.ErrDisk) {
			t.Errorf("%s: start: %v", part, err)
		}
		bad.On.Store(false)
		checkpointtest.Must(t, x.Abort())

		x = f.Lock()
		switch s := x.State(); {
		case s == nil:
			t.Errorf("%s: no session", part)
		case s.Session == "S3": // S3 was prepared before the move of S2 began
			f.Read("PRD-009/history/S2/journal.jsonl")
		case s.Session != "S2":
			t.Errorf("%s: session %s", part, s.Session)
		}
		f.Read("PRD-009/history/S1/journal.jsonl")
		checkpointtest.Must(t, x.Close())
	}
}

// TestImport starts a session from a hand-written PRD document. The state must have the
// document's completed workstreams, passed gates and notes, and the document must be kept
// as imported.json.
func TestImport(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	hand := `{"prd":"PRD-009","prd_title":"Cashier Workflows","current_phase":2,"status":"failed",
		"completed_workstreams":["WS1","WS2"],"in_progress_workstreams":[],"pending_workstreams":["WS3","WS4","WS5"],
		"artifacts":{"WS1":["supabase/migrations/xxx.sql"]},
		"gates_passed":["schema-validation (WS1)"],"gates_pending":["type-check","lint","test-pass"],
		"timestamp":"2025-12-11T10:25:00Z","error":{"workstream":"WS3","message":"no"},
		"adversarial_review":{"verdict":"ship","p0_count":0,"p1_count":2,"attempt":1},
		"cleanup_done":["dead code"]}`
	f.Write("PRD-009.json", []byte(hand))
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if snap.State != nil || snap.Document == nil {
		t.Fatalf("snapshot %+v", snap)
	}
	checkpointtest.Must(t, snap.Document.Validate(nil))

	x := f.Lock()
	e := checkpointtest.Started("S1", checkpointtest.Cashier())
	e.Imported = &snap.Document.Document
	checkpointtest.Must(t, x.Start(e))
	s := x.State()
	for name, want := range map[string]state.StepStatus{"WS1": state.Completed, "WS2": state.Succeeded, "WS3": state.Pending} {
		if got := s.Workstream(name).Status; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if w := s.Workstream("WS1"); !w.Imported || w.Step != 0 || len(w.Artifacts) != 1 {
		t.Errorf("WS1 %+v", w)
	}
	if s.Phases[0].Status != state.Completed || s.Phases[1].Status != state.Pending || s.Status != state.StatusInProgress {
		t.Errorf("phases %s, %s, session %s", s.Phases[0].Status, s.Phases[1].Status, s.Status)
	}
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	snap, err = f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, snap.Document.Validate(nil))
	checkpointtest.Must(t, snap.Document.Matches(s))
	if snap.Document.Review == nil || snap.Document.CleanupDone[0] != "dead code" {
		t.Errorf("notes %+v", snap.Document.Notes)
	}
	if got := f.Read("PRD-009/imported.json"); string(got) != hand {
		t.Errorf("imported.json holds %s, want the hand-written document", got)
	}
	checkpointtest.Must(t, x.Close())
}

// TestImportThatDoesNotFit: Start must refuse a document that names a workstream or a
// gate which the pipeline does not have, and name both.
func TestImportThatDoesNotFit(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Lock()
	e := checkpointtest.Started("S1", checkpointtest.Cashier())
	e.Imported = &state.Document{Completed: []string{"WS9"}, GatesPassed: []string{"lint (WS1)", "lint"}}
	err := x.Start(e)
	if !errors.Is(err, state.ErrImport) || !strings.Contains(err.Error(), `"WS9"`) || !strings.Contains(err.Error(), `"lint (WS1)"`) {
		t.Errorf("start: %v", err)
	}
	checkpointtest.Must(t, x.Close())
}

// TestBareGateNames: a gate name without a workstream in the document passes that gate in
// all completed workstreams.
func TestBareGateNames(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Lock()
	e := checkpointtest.Started("S1", checkpointtest.Cashier())
	e.Imported = &state.Document{Completed: []string{"WS1", "WS2"}, GatesPassed: []string{"schema-validation", "type-check"}}
	checkpointtest.Must(t, x.Start(e))
	for label, want := range map[string]state.StepStatus{
		"schema-validation (WS1)": state.Passed,
		"type-check (WS2)":        state.Passed,
		"type-check (WS4)":        state.Pending, // WS4 is not completed
	} {
		if got := x.State().Gate(label).Status; got != want {
			t.Errorf("%s is %s, want %s", label, got, want)
		}
	}
	checkpointtest.Must(t, x.Close())
}

// unprepared is a file system on which renaming a file to next.jsonl fails, so that no
// next session can be prepared.
type unprepared struct{ store.FS }

func (u unprepared) Rename(from, to string) error {
	if filepath.Base(to) == disk.NextName {
		return faults.ErrDisk
	}
	return u.FS.Rename(from, to)
}

// TestStartThatFailsCanBeClosed: if the next session can't be prepared, the previous
// session stays the current one. Close must return an error, since the Start failed.
func TestStartThatFailsCanBeClosed(t *testing.T) {
	t.Parallel()
	f := checkpointtest.On(t, unprepared{store.NewMemory()}, "/ws/.runner")
	x := f.Run()
	finish(t, x)
	if err := x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())); !errors.Is(err, faults.ErrDisk) {
		t.Fatalf("start: %v", err)
	}
	if err := x.Close(); err == nil {
		t.Error("closing a session whose Start failed returned no error")
	}
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if snap.State.Session != "S1" {
		t.Errorf("the session is %s", snap.State.Session)
	}
}
