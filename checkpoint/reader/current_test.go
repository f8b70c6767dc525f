package reader_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

const journalFile = "PRD-009/" + disk.JournalName

// remove removes files and directories of the state directory.
func remove(f *checkpointtest.Fixture, names ...string) {
	f.T.Helper()
	for _, name := range names {
		checkpointtest.Must(f.T, store.RemoveAll(f.FS, filepath.Join(f.Dir, name)))
	}
}

// TestCurrentNoticesLostCommits: the current session is what its journal tells. Files that
// name commits which the journal lacks show that it was damaged, and whether anything is
// left to rebuild it from.
func TestCurrentNoticesLostCommits(t *testing.T) {
	t.Parallel()
	const session, none, damaged, lost = "session", "no session", "damaged", "lost"
	for name, tt := range map[string]struct {
		change func(f *checkpointtest.Fixture)
		want   string
	}{
		"as written":         {func(*checkpointtest.Fixture) {}, session},
		"everything is gone": {func(f *checkpointtest.Fixture) { remove(f, "PRD-009", "PRD-009.json") }, none},
		"the journal is gone": {func(f *checkpointtest.Fixture) {
			remove(f, journalFile)
		}, damaged},
		"the journal is empty": {func(f *checkpointtest.Fixture) { f.Write(journalFile, nil) }, damaged},
		"journal and checkpoints are gone": {func(f *checkpointtest.Fixture) {
			remove(f, journalFile, "PRD-009/checkpoints")
		}, lost},
		"the journal is gone, and an earlier one is there": {func(f *checkpointtest.Fixture) {
			f.Write("PRD-009/journal.1.jsonl", f.Read(journalFile))
			remove(f, journalFile, "PRD-009/checkpoints")
		}, damaged},
		"only the document is left": {func(f *checkpointtest.Fixture) { remove(f, "PRD-009") }, lost},
		"only the manifest is left": {func(f *checkpointtest.Fixture) { remove(f, journalFile, "PRD-009/checkpoints", "PRD-009.json") }, lost},
		"only a document by hand": {func(f *checkpointtest.Fixture) {
			remove(f, "PRD-009")
			f.Write("PRD-009.json", []byte(`{"prd":"PRD-009"}`))
		}, "document"},
		"only a damaged document": {func(f *checkpointtest.Fixture) { remove(f, "PRD-009"); f.Write("PRD-009.json", []byte("x")) }, damaged},
		"the document is damaged": {func(f *checkpointtest.Fixture) { f.Write("PRD-009.json", []byte("x")) }, session},
		"the document is gone":    {func(f *checkpointtest.Fixture) { remove(f, "PRD-009.json") }, session},
		"a torn line follows":     {func(f *checkpointtest.Fixture) { f.Write(journalFile, append(f.Read(journalFile), "torn"...)) }, "session, torn"},
		"nothing but a torn line": {func(f *checkpointtest.Fixture) {
			remove(f, "PRD-009", "PRD-009.json")
			f.Write(journalFile, []byte("torn"))
		}, none},
		"the journal lacks its end": {func(f *checkpointtest.Fixture) { cutJournal(f, 1) }, damaged},
		"a damaged line":            {func(f *checkpointtest.Fixture) { checkpointtest.FlipByte(f, journalFile, 30) }, damaged},
		"an edited document is left": {func(f *checkpointtest.Fixture) {
			remove(f, "PRD-009")
			f.Write("PRD-009.json", bytes.ReplaceAll(f.Read("PRD-009.json"), []byte("Cashier"), []byte("Edited")))
		}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			checkpointtest.Stopped(f)
			tt.change(f)
			c, err := f.Open().Reader().Current("PRD-009")
			var damage *state.DamagedError
			got := ""
			switch {
			case errors.As(err, &damage) && damage.Lost:
				got = lost
			case damage != nil:
				got = damaged
			case errors.Is(err, reader.ErrNoSession):
				got = none
			case err != nil:
				t.Fatal(err)
			case c.State == nil && c.Document != nil:
				got = "document"
			case c.State != nil && c.TornBytes > 0:
				got = "session, torn"
			case c.State != nil:
				got = session
			}
			if got != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// cutJournal removes the last n lines of the journal.
func cutJournal(f *checkpointtest.Fixture, n int) {
	f.T.Helper()
	lines := bytes.SplitAfter(f.Read(journalFile), []byte("\n"))
	f.Write(journalFile, bytes.Join(lines[:len(lines)-1-n], nil))
}

// rescued makes a session whose last lines, with its last checkpoint, are not in the
// journal but in a rescue copy. Nothing but the journal names commits. It returns all
// commits, how many of them the journal has, and the ids of the checkpoints.
func rescued(t *testing.T) (f *checkpointtest.Fixture, all []state.Commit, kept int, ids []string) {
	t.Helper()
	f = checkpointtest.InMemory(t)
	ids = checkpointtest.Stopped(f)
	r := f.Open().Reader()
	_, err := r.Replay("PRD-009", func(c state.Commit) error {
		for _, e := range c.Events {
			if made, ok := e.(state.CheckpointCreated); ok && made.ID == ids[2] {
				kept = len(all)
			}
		}
		all = append(all, c)
		return nil
	})
	checkpointtest.Must(t, err)
	var lost []*state.Commit
	for _, c := range all[kept:] {
		lost = append(lost, &c)
	}
	_, err = r.Rescues.Write("PRD-009", "S1", lost)
	checkpointtest.Must(t, err)
	cutJournal(f, len(lost))
	remove(f, "PRD-009.json", "PRD-009/"+disk.ManifestName, "PRD-009/checkpoints")
	return f, all, kept, ids
}

// recordOf reads the record of the current session of PRD-009.
func recordOf(t *testing.T, r reader.Reader) *reader.Record {
	t.Helper()
	dirs, err := r.Layout.SessionDirs("PRD-009")
	checkpointtest.Must(t, err)
	for _, dir := range dirs {
		if dir.Place == disk.PlaceCurrent {
			record, err := r.ReadRecord(dir)
			checkpointtest.Must(t, err)
			return record
		}
	}
	t.Fatal("there is no current session")
	return nil
}

// TestRescueCopyContinuesTheJournal: every reader sees the commits of a rescue copy that
// the next owner will add to the journal.
func TestRescueCopyContinuesTheJournal(t *testing.T) {
	t.Parallel()
	f, all, kept, ids := rescued(t)
	r := f.Open().Reader()
	last := all[len(all)-1].Seq
	c, err := r.Current("PRD-009")
	checkpointtest.Must(t, err)
	if c.RescuePath == "" || c.State.Seq != last {
		t.Errorf("the current session is at commit %d with the rescue copy %q, want %d", c.State.Seq, c.RescuePath, last)
	}
	record := recordOf(t, r)
	heads := record.Heads()
	if len(heads) != 2 || heads[0].Seq != all[kept-1].Seq || heads[1].Seq != last {
		t.Fatalf("the record has %d states, want those of the commits %d and %d", len(heads), all[kept-1].Seq, last)
	}
	needed := record.NeededCheckpoints()
	commits, found := 0, map[string]uint64{}
	checkpointtest.Must(t, r.VisitRecord(t.Context(), record, reader.Visitor{
		Wanted:     needed,
		Commit:     func(state.Commit) error { commits++; return nil },
		Checkpoint: func(id string, at *state.State) error { found[id] = at.Seq; return nil },
	}))
	if commits != len(all) || len(found) != len(ids) || len(needed) != 0 {
		t.Errorf("visited %d commits and the checkpoints %v, and still want %v; want %d commits and %q", commits, found, needed, len(all), ids)
	}
	if made, err := r.CurrentSession("PRD-009").Rebuild(ids[2]); err != nil || made.ID != ids[2] {
		t.Errorf("the checkpoint of the rescue copy is not rebuilt: %v", err)
	}
}

// TestRelationTo: an archive's session continues the current one if it has more commits,
// unless a rescue copy has commits that belong to the session, too.
func TestRelationTo(t *testing.T) {
	t.Parallel()
	f, all, kept, _ := rescued(t)
	comes := journal.NewLineage()
	comes.Session = "S1"
	for _, c := range all {
		comes.Add(c)
		comes.Seq = c.Seq
	}
	expect := func(when string, prd string, want journal.Relation, seq uint64) {
		t.Helper()
		got, of, _, err := f.Open().Reader().RelationTo(prd, comes)
		checkpointtest.Must(t, err)
		if got != want || of == nil && seq > 0 || of != nil && of.Seq != seq {
			t.Errorf("%s the relation is %s to %q, want %s to commit %d", when, got, checkpointtest.SeqOf(of), want, seq)
		}
	}
	expect("with a rescue copy", "PRD-009", journal.RelationDiverged, all[kept-1].Seq)
	checkpointtest.Must(t, store.RemoveAll(f.FS, f.Options.RescueDir))
	expect("without a rescue copy", "PRD-009", journal.RelationForward, all[kept-1].Seq)
	expect("without a session", "PRD-010", journal.RelationNew, 0)
	f.Write("PRD-010.json", []byte(`{"prd":"PRD-010"}`))
	expect("to a document by hand", "PRD-010", journal.RelationForeign, 0)
	checkpointtest.FlipByte(f, journalFile, 30)
	expect("to a damaged session", "PRD-009", journal.RelationDamaged, 0)
	if _, _, why, err := f.Open().Reader().RelationTo("PRD-009", comes); err != nil || !errors.As(why, new(*state.DamagedError)) {
		t.Errorf("what makes the session unreadable is %v, %v", why, err)
	}
}
