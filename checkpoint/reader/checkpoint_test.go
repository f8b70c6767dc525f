package reader_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestCheckpointsAreRebuiltFromJournals: a checkpoint without a file is rebuilt from the
// journal, or from one that the journal was compacted from. A damaged file is no missing
// one. If no journal reaches back, the error says what to do.
func TestCheckpointsAreRebuiltFromJournals(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, func(t *testing.T, f *checkpointtest.Fixture) {
		ids := checkpointtest.Stopped(f)
		s := f.Open().Reader().CurrentSession("PRD-009")
		c, err := s.Current("PRD-009")
		checkpointtest.Must(t, err)
		expect := func(when, id string, damaged bool) {
			t.Helper()
			ref := c.State.Checkpoint(id)
			file, err := s.ReadCheckpoint(c.State, ref)
			var damage *state.DamagedError
			if errors.As(err, &damage) != damaged || err != nil && damage == nil {
				t.Fatalf("%s: %v, want damage: %t", when, err, damaged)
			}
			if err == nil && (file.ID != id || file.Seq != ref.Seq || file.State.Seq != ref.Seq) {
				t.Errorf("%s: read %s with commit %d and the state of %d, want commit %d", when, file.ID, file.Seq, file.State.Seq, ref.Seq)
			}
			if damage != nil && (damage.Checkpoint != id || damage.Remedy == "") {
				t.Errorf("%s: the error is about %q and advises %q", when, damage.Checkpoint, damage.Remedy)
			}
		}
		expect("as written", ids[0], false)
		checkpointtest.FlipByte(f, f.CheckpointFile(ids[0]), 100)
		expect("with a damaged file", ids[0], true)
		checkpointtest.Must(t, f.Checkpoints().Remove(ids[0]))
		expect("without a file", ids[0], false)
		found, err := s.RebuildAll(map[string]bool{ids[1]: true, ids[2]: true, "CP-none": true}, func(disk.CheckpointFile) error { return nil })
		if err != nil || !maps.Equal(found, map[string]bool{ids[1]: true, ids[2]: true}) {
			t.Errorf("rebuilt %v, %v", found, err)
		}
		checkpointtest.Compact(t, f.Open()) // writes the missing files
		checkpointtest.Must(t, f.Checkpoints().Remove(ids[0]))
		expect("after a compaction", ids[0], false)
		paths, err := s.Layout.Journals(s.Dir)
		checkpointtest.Must(t, err)
		if len(paths) != 2 {
			t.Fatalf("the journals are %q", paths)
		}
		checkpointtest.Must(t, store.RemoveAll(f.FS, paths[1]))
		expect("without the journal that reaches back", ids[0], true)
	})
}

// TestCheckpointsAreRebuiltWithoutTheJournal: checkpoints are rebuilt from an earlier
// journal if the current one is missing.
func TestCheckpointsAreRebuiltWithoutTheJournal(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	f.Write("PRD-009/journal.1.jsonl", f.Read(journalFile))
	remove(f, journalFile)
	for _, id := range ids {
		made, err := f.Open().Reader().CurrentSession("PRD-009").Rebuild(id)
		if err != nil || made.ID != id {
			t.Errorf("%s is not rebuilt: %v", id, err)
		}
	}
}

// TestVisitRecordReadsFilesLast: checkpoints that the journals no longer reach are read
// from their files. One that is damaged or missing there, too, is an error.
func TestVisitRecordReadsFilesLast(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	checkpointtest.Compact(t, f.Open())
	r := f.Open().Reader()
	paths, err := r.Layout.Journals(r.Layout.PRDDir("PRD-009"))
	checkpointtest.Must(t, err)
	for _, path := range paths[1:] {
		checkpointtest.Must(t, store.RemoveAll(f.FS, path))
	}
	visit := func() ([]string, error) {
		var found []string
		record := recordOf(t, r)
		err := r.VisitRecord(t.Context(), record, reader.Visitor{Wanted: record.NeededCheckpoints(), Checkpoint: func(id string, at *state.State) error {
			if ref := record.State.Checkpoint(id); ref == nil || at.Seq != ref.Seq {
				t.Errorf("%s has the state of commit %d", id, at.Seq)
			}
			found = append(found, id)
			return nil
		}})
		slices.Sort(found)
		return found, err
	}
	if found, err := visit(); err != nil || !slices.Equal(found, slices.Sorted(slices.Values(ids))) {
		t.Errorf("visited %q, %v, want %q", found, err, ids)
	}
	var damage *state.DamagedError
	checkpointtest.FlipByte(f, f.CheckpointFile(ids[1]), 100)
	if _, err := visit(); !errors.As(err, &damage) || !strings.Contains(damage.Remedy, ids[1]) {
		t.Errorf("visited a damaged checkpoint: %v", err)
	}
	checkpointtest.Must(t, f.Checkpoints().Remove(ids[1]))
	if _, err := visit(); !errors.As(err, &damage) || !strings.Contains(damage.Detail, "is missing") {
		t.Errorf("visited a missing checkpoint: %v", err)
	}
}

// TestStateAfter: the state after a commit is read from the journal that has the commit,
// also from one that the journal was compacted from.
func TestStateAfter(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	checkpointtest.Stopped(f)
	s := f.Open().Reader().CurrentSession("PRD-009")
	var seqs []uint64
	_, err := s.Replay("PRD-009", func(c state.Commit) error { seqs = append(seqs, c.Seq); return nil })
	checkpointtest.Must(t, err)
	checkpointtest.Compact(t, f.Open())
	for _, seq := range seqs {
		at, err := s.StateAfter(seq)
		if err != nil || at.Seq != seq {
			t.Errorf("the state after commit %d is %q, %v", seq, checkpointtest.SeqOf(at), err)
		}
	}
	for _, seq := range []uint64{0, seqs[len(seqs)-1] + 100} {
		if at, err := s.StateAfter(seq); !errors.Is(err, reader.ErrCommitGone) {
			t.Errorf("the state after commit %d is %q, %v", seq, checkpointtest.SeqOf(at), err)
		}
	}
}

// TestRecordNoticesWhatIsMissing: a session whose journal lacks what its files name is not
// read, wherever the session is. Of a directory without files there is nothing to read.
func TestRecordNoticesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change  func(f *checkpointtest.Fixture)
		damaged bool
	}{
		"as written":                       {func(*checkpointtest.Fixture) {}, false},
		"without its end":                  {func(f *checkpointtest.Fixture) { cutJournal(f, 2) }, true},
		"without its end, but checkpoints": {func(f *checkpointtest.Fixture) { cutJournal(f, 2); remove(f, "PRD-009.json", "PRD-009/manifest.json") }, true},
		"without a journal":                {func(f *checkpointtest.Fixture) { remove(f, journalFile) }, true},
		"without journal and checkpoints":  {func(f *checkpointtest.Fixture) { remove(f, journalFile, "PRD-009/checkpoints") }, true},
		"with nothing but checkpoints":     {func(f *checkpointtest.Fixture) { remove(f, journalFile, "PRD-009.json", "PRD-009/manifest.json") }, true},
		"without its end, but a document": {func(f *checkpointtest.Fixture) {
			cutJournal(f, 2)
			remove(f, "PRD-009/manifest.json", "PRD-009/checkpoints")
		}, true},
		"with a torn journal":     {func(f *checkpointtest.Fixture) { f.Write(journalFile, []byte("torn")) }, true},
		"with a damaged document": {func(f *checkpointtest.Fixture) { f.Write("PRD-009.json", []byte("x")) }, false},
		"with nothing at all": {func(f *checkpointtest.Fixture) {
			remove(f, journalFile, "PRD-009.json", "PRD-009/manifest.json", "PRD-009/checkpoints")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			checkpointtest.Stopped(f)
			tt.change(f)
			r := f.Open().Reader()
			dirs, err := r.Layout.SessionDirs("PRD-009")
			checkpointtest.Must(t, err)
			record, err := r.ReadRecord(dirs[0])
			var damage *state.DamagedError
			if errors.As(err, &damage) != tt.damaged || err != nil && damage == nil {
				t.Fatalf("read with %v, want damage: %t", err, tt.damaged)
			}
			if there, _ := store.Exists(f.FS, r.Layout.JournalPath("PRD-009")); err == nil && (record.State != nil) != there {
				t.Errorf("the record has the state %q", checkpointtest.SeqOf(record.State))
			}
			if damage != nil && damage.Remedy == "" {
				t.Error("the error advises nothing")
			}
			if damage != nil && strings.Contains(damage.Detail, "nothing of it can be read") != (name == "with a torn journal") {
				t.Errorf("the error says %q", damage.Detail)
			}
		})
	}
}

// TestLostRemedy: of the current session a checkpoint can be given up, or the session
// abandoned. An archived session can be removed.
func TestLostRemedy(t *testing.T) {
	t.Parallel()
	r := checkpointtest.InMemory(t).Open().Reader()
	current, archived := r.CurrentSession("PRD-009"), r.Session("PRD-009", "/ws/.runner/failed/it's")
	for _, tt := range []struct {
		s        reader.Session
		id, want string
	}{
		{current, "CP-1", "`runner checkpoint delete PRD-009 CP-1`"}, {current, "", state.AbandonRemedy("PRD-009")},
		{archived, "CP-1", `rm -r '/ws/.runner/failed/it'\''s'`}, {archived, "", "rm -r "},
	} {
		if got := tt.s.LostRemedy(tt.id); !strings.Contains(got, tt.want) {
			t.Errorf("the advice for %q in %s is %q, want %q", tt.id, tt.s.Dir, got, tt.want)
		}
	}
}
