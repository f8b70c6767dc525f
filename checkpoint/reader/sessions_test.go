package reader_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// severalSessions makes a state directory in which PRD-009 has the sessions A, abandoned,
// B, complete, C, complete, and D, the current one. PRD-010 has only a document that was
// written by hand, PRD-011 only an archived session that can't be read.
func severalSessions(t *testing.T) *checkpointtest.Fixture {
	t.Helper()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("A", checkpointtest.Wide(1))))
	_, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
	checkpointtest.Must(t, err)
	for _, session := range []string{"B", "C", "D"} {
		checkpointtest.Must(t, x.Start(checkpointtest.Started(session, checkpointtest.Wide(1))))
		if session != "D" {
			checkpointtest.Commit(t, x, state.SessionCompleted{})
		}
	}
	checkpointtest.Must(t, x.Close())
	f.Write("PRD-010.json", []byte(`{"prd":"PRD-010"}`))
	f.Write("failed/PRD-011-20251211T100000Z/journal.jsonl", []byte("not a line\nnor this\n"))
	f.Write("notes.json", []byte("{}"))
	f.Write("notes/journal.jsonl", nil)
	checkpointtest.Must(t, store.MkdirAll(f.FS, filepath.Join(f.Dir, "PRD-012"))) // without a journal
	return f
}

// placed lists sessions as ID@PLACE; the ID of one that can't be read is its PRD.
func placed(all []reader.StoredSession) []string {
	var list []string
	for _, s := range all {
		id := s.PRD
		if s.State != nil {
			id = s.State.Session
		}
		list = append(list, id+"@"+string(s.Place))
	}
	return list
}

// TestSessionsAreListedByPRD: the archived sessions of a PRD come in the order of their
// starts, and then the current one. A session that can't be read is listed with its error.
func TestSessionsAreListedByPRD(t *testing.T) {
	t.Parallel()
	r := severalSessions(t).Open().Reader()
	ofNine := []string{"A@failed", "B@history", "C@history", "D@current"}
	for prd, want := range map[string][]string{
		"PRD-009": ofNine, "PRD-010": nil, "PRD-011": {"PRD-011@failed"}, "PRD-012": nil, "PRD-013": nil,
		"": append(slices.Clone(ofNine), "PRD-011@failed"),
	} {
		all, err := r.Sessions(prd)
		checkpointtest.Must(t, err)
		if got := placed(all); !slices.Equal(got, want) {
			t.Errorf("the sessions of %q are %q, want %q", prd, got, want)
		}
		for _, s := range all {
			if (s.Err == nil) != (s.State != nil) {
				t.Errorf("a session of %s has the state %v and the error %v", s.PRD, s.State, s.Err)
			}
		}
	}
	if _, err := r.Sessions("../x"); !errors.As(err, new(*disk.IDError)) {
		t.Errorf("the sessions of a name that is no id: %v", err)
	}
	archived, err := r.Archived(t.Context(), func(s reader.StoredSession) bool { return s.PRD == "PRD-009" })
	checkpointtest.Must(t, err)
	got := placed(archived)
	if slices.Sort(got); !slices.Equal(got, ofNine[:3]) {
		t.Errorf("the archived sessions are %q, want %q", got, ofNine[:3])
	}
}

// TestPRDsAreFound: a PRD is listed if it has a journal or a document, and known if it has
// a session, current or archived.
func TestPRDsAreFound(t *testing.T) {
	t.Parallel()
	r := severalSessions(t).Open().Reader()
	prds, err := r.PRDs()
	checkpointtest.Must(t, err)
	if want := []string{"PRD-009", "PRD-010"}; !slices.Equal(prds, want) {
		t.Errorf("the PRDs are %q, want %q", prds, want)
	}
	known, err := r.Known()
	checkpointtest.Must(t, err)
	if want := []string{"PRD-009", "PRD-011"}; !slices.Equal(known, want) {
		t.Errorf("the PRDs with a session are %q, want %q", known, want)
	}
	for prd, want := range map[string]bool{"PRD-009": true, "PRD-010": true, "PRD-011": false, "PRD-012": true} {
		if is, err := r.IsKnown(prd); err != nil || is != want {
			t.Errorf("%s is known: %t, %v, want %t", prd, is, err, want)
		}
	}
	if prds, err := checkpointtest.InMemory(t).Open().Reader().PRDs(); err != nil || prds != nil {
		t.Errorf("a missing state directory has the PRDs %q, %v", prds, err)
	}
}

// TestArchivedSessionIsTheNewest: of several copies of an archived session the one with the
// most commits counts. The current session is not an archived one.
func TestArchivedSessionIsTheNewest(t *testing.T) {
	t.Parallel()
	f := severalSessions(t)
	r := f.Open().Reader()
	whole := f.Read("PRD-009/history/B/" + disk.JournalName)
	first := whole[:strings.IndexByte(string(whole), '\n')+1]
	f.Write("PRD-009/history/0/"+disk.JournalName, first)
	f.Write("PRD-009/history/Z/"+disk.JournalName, first)
	at, err := r.ArchivedSession("PRD-009", "B")
	checkpointtest.Must(t, err)
	if filepath.Base(at.Dir) != "B" {
		t.Errorf("the archived session is %s with commit %d", at.Dir, at.State.Seq)
	}
	for _, id := range []string{"D", "E", "Bx", ""} {
		if _, err := r.ArchivedSession("PRD-009", id); !errors.Is(err, reader.ErrNoSession) {
			t.Errorf("the archived session %s: %v", id, err)
		}
	}
}

// TestLastComplete: the session that completed last is the current one if that is complete,
// else the newest complete one in the history. What can't be read is told.
func TestLastComplete(t *testing.T) {
	t.Parallel()
	f := severalSessions(t)
	r := f.Open().Reader()
	expect := func(when, want string, unread int) {
		t.Helper()
		last, skipped, err := r.LastComplete("PRD-009")
		checkpointtest.Must(t, err)
		got := ""
		if last != nil {
			got = last.Session
		}
		if got != want || len(skipped) != unread {
			t.Errorf("%s the last complete session is %q, and %d are not read; want %q and %d", when, got, len(skipped), want, unread)
		}
	}
	expect("with an unfinished current session", "C", 0)
	x := f.Lock()
	checkpointtest.Commit(t, x, state.SessionCompleted{})
	checkpointtest.Must(t, x.Close())
	expect("with a complete current session", "D", 0)
	checkpointtest.Must(t, store.RemoveAll(f.FS, filepath.Join(f.Dir, "PRD-009", disk.JournalName)))
	f.Write("PRD-009/history/C/"+disk.JournalName, []byte("damaged\nand more\n"))
	expect("with a damaged one in the history", "B", 1)
}
