package checkpoint

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// finish completes what fixture.run began.
func finish(t *testing.T, x *Session) {
	t.Helper()
	gates := []string{"", "", "type-check", "lint", "type-check", "test-pass"}
	for i := 2; i <= 5; i++ {
		phase, ws := x.State().Phases[i-1].Name, x.State().Phases[i-1].Workstreams[0].Name
		if i > 2 {
			commit(t, x, state.PhaseStarted{Phase: phase})
		}
		commit(t, x, work(ws, gates[i])...)
		commit(t, x, state.PhaseCompleted{Phase: phase})
	}
	commit(t, x, state.SessionCompleted{})
}

func TestStartArchivesWhatWasThere(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	finish(t, x)
	f.write("PRD-009/logs/WS1.1.log", []byte("done"))
	must(t, x.Start(started("S2", cashier()))) // the first is complete
	if got := f.read("PRD-009/history/S1/logs/WS1.1.log"); string(got) != "done" {
		t.Errorf("log %q", got)
	}
	f.read("PRD-009/history/S1/PRD-009.json")
	last, _, err := f.open().LastComplete("PRD-009")
	must(t, err)
	if last == nil || last.Session != "S1" {
		t.Errorf("last complete %+v", last)
	}

	must(t, x.Start(started("S3", cashier()))) // the second is not
	failed, err := f.fs.ReadDir(filepath.Join(f.dir, "failed"))
	must(t, err)
	if len(failed) != 1 || !strings.HasPrefix(failed[0].Name(), "PRD-009-20251211T") {
		t.Fatalf("failed: %v", failed)
	}
	f.read("failed/" + failed[0].Name() + "/journal.jsonl")
	f.read("PRD-009/history/S1/journal.jsonl")

	at, err := x.Abandon(state.SessionAbandoned{By: by})
	must(t, err)
	if !strings.Contains(at, "failed") || x.State() != nil {
		t.Errorf("abandoned to %s", at)
	}
	must(t, x.Close())
	if _, err := f.open().Load("PRD-009"); !errors.Is(err, ErrNoSession) {
		t.Errorf("load: %v", err)
	}
}

// TestLastCompletePassesOverWhatCannotBeRead has files in a history that are no
// session, and sessions in it that are damaged.
func TestLastCompletePassesOverWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.run()
	finish(t, x)
	must(t, x.Start(started("S2", cashier())))
	f.write("PRD-009/history/.DS_Store", []byte("of a desktop"))
	s := f.open()
	last, unread, err := s.LastComplete("PRD-009")
	must(t, err)
	if last == nil || last.Session != "S1" || len(unread) != 0 {
		t.Errorf("last complete %+v, unread %v", last, unread)
	}

	f.write("PRD-009/history/S0/journal.jsonl", []byte("not a journal\n"))
	last, unread, err = s.LastComplete("PRD-009")
	must(t, err)
	if last == nil || last.Session != "S1" || len(unread) != 1 || filepath.Base(unread[0].Dir) != "S0" {
		t.Fatalf("last complete %+v, unread %v", last, unread)
	}
	var damaged *state.DamagedError
	if !errors.As(unread[0].Err, &damaged) || !strings.HasSuffix(damaged.Remedy, "rm -r "+unread[0].Dir) {
		t.Errorf("S0: %v", unread[0].Err)
	}
	f.write("PRD-009/history/S1/journal.jsonl", []byte("not a journal either\n"))
	last, unread, err = s.LastComplete("PRD-009")
	must(t, err)
	if last != nil || len(unread) != 2 {
		t.Errorf("last complete %+v, unread %v", last, unread)
	}
	must(t, x.Start(started("S3", cashier())))
	must(t, x.Close())
}

// TestArchiveCutShort cuts archiving at each of its renames; the next owner
// finishes it, so that the session which was to follow begins, or the old one is still there.
func TestArchiveCutShort(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"PRD-009/PRD-009.json", "PRD-009.archiving", "PRD-009/history", "history/S2"} {
		bad := &faults.Faulty{FS: store.NewMemory(), Op: "rename", Part: part}
		f := on(t, bad, "/ws/.runner")
		x := f.run()
		finish(t, x)
		must(t, x.Start(started("S2", cashier())))
		for i := range 5 {
			commit(t, x, state.PhaseSkipped{Phase: x.State().Phases[i].Name, Reason: "none"})
		}
		commit(t, x, state.SessionCompleted{})
		bad.On.Store(true)
		if err := x.Start(started("S3", cashier())); !errors.Is(err, faults.ErrDisk) {
			t.Errorf("%s: start: %v", part, err)
		}
		bad.On.Store(false)
		must(t, x.Abort())

		x = f.lock()
		switch s := x.State(); {
		case s == nil:
			t.Errorf("%s: no session", part)
		case s.Session == "S3": // it was prepared before S2 was on its way
			f.read("PRD-009/history/S2/journal.jsonl")
		case s.Session != "S2":
			t.Errorf("%s: session %s", part, s.Session)
		}
		f.read("PRD-009/history/S1/journal.jsonl")
		must(t, x.Close())
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	hand := `{"prd":"PRD-009","prd_title":"Cashier Workflows","current_phase":2,"status":"failed",
		"completed_workstreams":["WS1","WS2"],"in_progress_workstreams":[],"pending_workstreams":["WS3","WS4","WS5"],
		"artifacts":{"WS1":["supabase/migrations/xxx.sql"]},
		"gates_passed":["schema-validation (WS1)"],"gates_pending":["type-check","lint","test-pass"],
		"timestamp":"2025-12-11T10:25:00Z","error":{"workstream":"WS3","message":"no"},
		"adversarial_review":{"verdict":"ship","p0_count":0,"p1_count":2,"attempt":1},
		"cleanup_done":["dead code"]}`
	f.write("PRD-009.json", []byte(hand))
	snap, err := f.open().Load("PRD-009")
	must(t, err)
	if snap.State != nil || snap.Document == nil {
		t.Fatalf("snapshot %+v", snap)
	}
	must(t, snap.Document.Validate(nil))

	x := f.lock()
	e := started("S1", cashier())
	e.Imported = snap.Document
	must(t, x.Start(e))
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
	must(t, x.WriteDerived(context.Background(), true))
	snap, err = f.open().Load("PRD-009")
	must(t, err)
	must(t, snap.Document.Validate(nil))
	must(t, snap.Document.Matches(s))
	if snap.Document.Review == nil || snap.Document.CleanupDone[0] != "dead code" {
		t.Errorf("notes %+v", snap.Document.Notes)
	}
	if got := f.read("PRD-009/imported.json"); string(got) != hand {
		t.Errorf("the document was not kept: %s", got)
	}
	must(t, x.Close())
}

func TestImportThatDoesNotFit(t *testing.T) {
	t.Parallel()
	x := inMemory(t).lock()
	e := started("S1", cashier())
	e.Imported = &state.Document{Completed: []string{"WS9"}, GatesPassed: []string{"lint (WS1)", "lint"}}
	err := x.Start(e)
	if !errors.Is(err, state.ErrImport) || !strings.Contains(err.Error(), `"WS9"`) || !strings.Contains(err.Error(), `"lint (WS1)"`) {
		t.Errorf("start: %v", err)
	}
	must(t, x.Close())
}

func TestBareGateNames(t *testing.T) {
	t.Parallel()
	x := inMemory(t).lock()
	e := started("S1", cashier())
	e.Imported = &state.Document{Completed: []string{"WS1", "WS2"}, GatesPassed: []string{"schema-validation", "type-check"}}
	must(t, x.Start(e))
	for label, want := range map[string]state.StepStatus{
		"schema-validation (WS1)": state.Passed,
		"type-check (WS2)":        state.Passed,
		"type-check (WS4)":        state.Pending, // its work is not done
	} {
		if got := x.State().Gate(label).Status; got != want {
			t.Errorf("%s is %s, want %s", label, got, want)
		}
	}
	must(t, x.Close())
}

// unprepared is a file system on which no next session can be prepared.
type unprepared struct{ store.FS }

func (u unprepared) Rename(from, to string) error {
	if filepath.Base(to) == disk.NextName {
		return faults.ErrDisk
	}
	return u.FS.Rename(from, to)
}

// TestStartThatFailsCanBeClosed: where the session that was to follow can't be
// prepared, the one that is there stays, and can be closed.
func TestStartThatFailsCanBeClosed(t *testing.T) {
	t.Parallel()
	f := on(t, unprepared{store.NewMemory()}, "/ws/.runner")
	x := f.run()
	finish(t, x)
	if err := x.Start(started("S2", cashier())); !errors.Is(err, faults.ErrDisk) {
		t.Fatalf("start: %v", err)
	}
	if err := x.Close(); err == nil {
		t.Error("a session that can't go on was closed as if all were well")
	}
	snap, err := f.open().Load("PRD-009")
	must(t, err)
	if snap.State.Session != "S1" {
		t.Errorf("the session is %s", snap.State.Session)
	}
}
