package repair_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// TestRebuildCheckpoint flips bytes of a checkpoint file. A validation must find each,
// and a rebuild must make the same file again from the journal, remove the mark, and keep
// the damaged file.
func TestRebuildCheckpoint(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testRebuildCheckpoint)
}

func testRebuildCheckpoint(t *testing.T, f *checkpointtest.Fixture) {
	ids := checkpointtest.Stopped(f)
	if v := checkpointtest.Validated(f, validate.Options{PRD: "PRD-009"}); v.Damaged() || len(v.Sessions[0].Checkpoints) != 3 {
		t.Fatalf("%+v", v)
	}
	before := f.Read(f.CheckpointFile(ids[1]))
	for at := 0; at < len(before); at += 97 {
		checkpointtest.FlipByte(f, f.CheckpointFile(ids[1]), at)
		v := checkpointtest.Validated(f, validate.Options{})
		if valid, invalid := v.Count(); valid != 2 || invalid != 1 || !v.Damaged() {
			t.Fatalf("byte %d: %d valid, %d invalid", at, valid, invalid)
		}
		f.Write(f.CheckpointFile(ids[1]), before)
	}
	checkpointtest.FlipByte(f, f.CheckpointFile(ids[1]), 50)
	c := checkpointtest.Validated(f, validate.Options{Refs: []string{ids[1]}}).Sessions[0].Checkpoints[0]
	if c.Hash != validate.FoundBad || c.File != validate.FoundOK || !c.Journal || c.Reason() == "" {
		t.Errorf("%+v", c)
	}

	x := f.Lock()
	checkpointtest.Must(t, validate.MarkDamaged(context.Background(), x, ids[1], "flipped"))
	at := x.State().Checkpoint(ids[1]).Damage.At
	checkpointtest.Must(t, validate.MarkDamaged(context.Background(), x, ids[1], "again"))
	if d := x.State().Checkpoint(ids[1]).Damage; d.Reason != "flipped" || d.At != at {
		t.Errorf("the first mark was replaced: %+v", d)
	}
	rebuilt, err := repair.RebuildCheckpoints(context.Background(), x, nil, nil)
	checkpointtest.Must(t, err)
	if len(rebuilt) != 1 || !rebuilt[0].Written || !rebuilt[0].Whole() || len(rebuilt[0].Kept) != 1 {
		t.Fatalf("%+v", rebuilt)
	}
	ref := x.State().Checkpoint(ids[1])
	if ref.Damage != nil || !ref.Valid {
		t.Errorf("still marked: %+v", ref)
	}
	checkpointtest.Must(t, x.Close())
	if !bytes.Equal(f.Read(f.CheckpointFile(ids[1])), before) {
		t.Error("the rebuilt file differs from the original")
	}
	if kept := f.Read("PRD-009/" + filepath.Base(string(rebuilt[0].Kept[0]))); bytes.Equal(kept, before) || len(kept) != len(before) {
		t.Error("the damaged file was not kept")
	}
}

// TestValidateMissingFile removes a checkpoint file. The checkpoint must still be valid,
// with a note, because the journal has its state.
func TestValidateMissingFile(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testValidateMissingFile)
}

func testValidateMissingFile(t *testing.T, f *checkpointtest.Fixture) {
	ids := checkpointtest.Stopped(f)
	checkpointtest.Must(t, f.FS.Remove(filepath.Join(f.Dir, f.CheckpointFile(ids[0]))))
	c := checkpointtest.Validated(f, validate.Options{Refs: []string{ids[0][:len(ids[0])-2]}}).Sessions[0].Checkpoints[0]
	if !c.Whole() || c.File != validate.FoundNone || len(c.Notes) != 1 {
		t.Errorf("%+v", c)
	}
	_, err := validate.Run(context.Background(), f.Open(), nil, validate.Options{Refs: []string{"CP-none"}})
	if !errors.Is(err, state.ErrNoCheckpoint) {
		t.Errorf("an unknown reference: %v", err)
	}
}

// TestValidateAllSessions: a validation must include archived sessions, and the
// checkpoints of a session whose journal is damaged.
func TestValidateAllSessions(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testValidateAllSessions)
}

func testValidateAllSessions(t *testing.T, f *checkpointtest.Fixture) {
	checkpointtest.Stopped(f)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S2", checkpointtest.Cashier())))
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Must(t, x.Close())
	v := checkpointtest.Validated(f, validate.Options{})
	if len(v.Sessions) != 2 || v.Sessions[0].Place != disk.PlaceFailed || v.Sessions[1].Place != disk.PlaceCurrent || v.Damaged() {
		t.Fatalf("%+v", v.Sessions)
	}
	checkpointtest.FlipByte(f, strings.TrimPrefix(v.Sessions[0].Dir, f.Dir+"/")+"/journal.jsonl", 900)
	v = checkpointtest.Validated(f, validate.Options{})
	if v.Sessions[0].Journal == nil || len(v.Sessions[0].Checkpoints) != 3 || !v.Damaged() {
		t.Fatalf("%+v", v.Sessions[0])
	}
	if last := v.Sessions[0].LastValid(); last == nil || last.Step != 4 {
		t.Errorf("the last valid checkpoint is %+v", last)
	}
}

// TestRebuildJournal damages the journal in many places. A rebuild must start the new
// journal from the newest state that is proved, and keep the damaged journal. The new
// journal must be valid and accept new commits.
func TestRebuildJournal(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testRebuildJournal)
}

func testRebuildJournal(t *testing.T, f *checkpointtest.Fixture) {
	ids := checkpointtest.Stopped(f)
	whole := f.Read("PRD-009/journal.jsonl")
	document, manifest := f.Read("PRD-009.json"), f.Read("PRD-009/manifest.json")
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	last := bytes.LastIndex(whole, []byte(ids[2]))
	tests := []struct {
		name    string
		journal []byte
		damaged []string // checkpoint files
		from    string   // "": the last commit before the damage
		step    int
		untold  int
		more    bool
		genesis bool
	}{
		{name: "the first line", journal: flipped(whole, 20), from: ids[2], step: 4},
		{name: "in the middle", journal: flipped(whole, len(whole)/2), from: ids[2], step: 4},
		{name: "the newest file is damaged too", journal: flipped(whole, len(whole)/2), damaged: ids[2:], from: ids[1], step: 3},
		{name: "all files are damaged", journal: flipped(whole, last), damaged: ids, step: 4, untold: 1, more: true},
		{name: "the last line, and the newest file is of it", journal: flipped(whole, last), from: ids[2], step: 4, more: true, genesis: true},
		{name: "cut short in the last line", journal: whole[:last], from: ids[2], step: 4, more: true, genesis: true},
		{name: "cut off", journal: bytes.Join(lines[:12], nil), from: ids[2], step: 4, genesis: true},
		{name: "a line is missing", journal: bytes.Join(slices.Delete(slices.Clone(lines), 8, 9), nil), damaged: ids, step: 1, untold: 1, more: true},
		{name: "empty", journal: nil, from: ids[2], step: 4, genesis: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := copyOf(f, t)
			f.Write("PRD-009/journal.jsonl", tt.journal)
			f.Write("PRD-009.json", document)
			f.Write("PRD-009/manifest.json", manifest)
			for _, id := range tt.damaged {
				checkpointtest.FlipByte(f, f.CheckpointFile(id), 100)
			}
			if _, err := f.Open().Load("PRD-009"); err == nil {
				t.Fatal("the journal is not damaged")
			}
			r, err := repair.RebuildJournal(context.Background(), f.Open(), "PRD-009", checkpointtest.By)
			checkpointtest.Must(t, err)
			if r.From != tt.from || r.Step != tt.step || r.Untold != tt.untold || r.More != tt.more {
				t.Errorf("from %q, step %d, %d untold, more %v, want %q, %d, %d, %v", r.From, r.Step, r.Untold, r.More, tt.from, tt.step, tt.untold, tt.more)
			}
			if !bytes.Equal(f.Read("PRD-009/"+filepath.Base(r.Kept)+"/journal.jsonl"), tt.journal) {
				t.Error("the damaged journal was not kept")
			}
			if (r.Prev() == journal.Genesis) != tt.genesis {
				t.Errorf("prev is %s", r.Prev())
			}
			snap, err := f.Open().Load("PRD-009")
			checkpointtest.Must(t, err)
			if snap.State.Steps != tt.step || snap.State.Session != "S1" || snap.State.Seq < uint64(len(lines)) {
				t.Errorf("step %d, session %s, seq %d of %d", snap.State.Steps, snap.State.Session, snap.State.Seq, len(lines))
			}
			x := f.Lock()
			checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "phase-5"})
			checkpointtest.Must(t, x.Close())
			if v := checkpointtest.Validated(f, validate.Options{}); v.Sessions[0].Journal != nil {
				t.Errorf("the new journal is damaged: %v", v.Sessions[0].Journal)
			} else if _, invalid := v.Count(); invalid != len(r.Gone) {
				t.Errorf("%d invalid checkpoints, but the rebuild lost %q", invalid, r.Gone)
			}
			if _, err := repair.RebuildJournal(context.Background(), f.Open(), "PRD-009", checkpointtest.By); !errors.Is(err, repair.ErrNotDamaged) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// flipped returns a copy of data with one bit flipped.
func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1
	return data
}

// copyOf returns a copy of a state directory in memory.
func copyOf(f *checkpointtest.Fixture, t *testing.T) *checkpointtest.Fixture {
	t.Helper()
	c := checkpointtest.InMemory(t)
	c.Options.Policy = f.Options.Policy
	var walk func(dir string)
	walk = func(dir string) {
		checkpointtest.Must(t, store.MkdirAll(c.FS, dir))
		entries, err := f.FS.ReadDir(dir)
		checkpointtest.Must(t, err)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir():
				walk(path)
			case e.Type().IsRegular():
				data, err := store.ReadFile(f.FS, path)
				checkpointtest.Must(t, err)
				checkpointtest.Must(t, store.WriteFile(c.FS, path, data))
			}
		}
	}
	walk(f.Dir)
	return c
}

// TestRebuildJournalOnce loses lines about `once` workstreams. After a rebuild, those
// that may have run must be uncertain, and the attempt numbers must continue.
func TestRebuildJournalOnce(t *testing.T) {
	t.Parallel()
	shape := state.Shape{Phases: []state.PhaseShape{{Name: "one", Workstreams: []state.WorkstreamShape{
		{Name: "pay", Once: true}, {Name: "mail", Once: true}, {Name: "build"},
	}}}}
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", shape)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "one"})
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	checkpointtest.Commit(t, x, state.PauseAsked{By: checkpointtest.By})
	wider := state.Shape{Phases: append(slices.Clone(shape.Phases), state.PhaseShape{Name: "two", Workstreams: []state.WorkstreamShape{{Name: "tell", Once: true}}})}
	checkpointtest.Commit(t, x, state.SessionResumed{Shape: &wider}) // the pipeline did not have "tell" at the checkpoint
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "tell", Attempt: 1})
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "pay", Attempt: 3})
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "build", Attempt: 2})
	checkpointtest.Must(t, x.Close())
	whole := f.Read("PRD-009/journal.jsonl")
	lines := bytes.SplitAfter(whole, []byte("\n"))

	for name, tt := range map[string]struct {
		journal   []byte
		uncertain []string
	}{
		"all of it is readable": {bytes.Join(append(slices.Clone(lines[:2]), lines[3:]...), nil), []string{"tell", "pay"}},
		"a start is unreadable": {flipped(whole, len(whole)-len(lines[7])-len(lines[6])/2), []string{"pay", "mail", "tell"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := copyOf(f, t)
			f.Write("PRD-009/journal.jsonl", tt.journal)
			// Either the line of the checkpoint is lost, and the state is that of its
			// file, or a later line is, and the state is that of the lines before it.
			r, err := repair.RebuildJournal(context.Background(), f.Open(), "PRD-009", checkpointtest.By)
			checkpointtest.Must(t, err)
			if !slices.Equal(r.Uncertain, tt.uncertain) {
				t.Errorf("uncertain workstreams %q, want %q", r.Uncertain, tt.uncertain)
			}
			snap, err := f.Open().Load("PRD-009")
			checkpointtest.Must(t, err)
			if w := snap.State.Workstream("build"); w.Attempts != 2 || w.Status != state.Pending {
				t.Errorf("build: %+v", w)
			}
			if w := snap.State.Workstream("pay"); w.Status != state.Uncertain {
				t.Errorf("pay: %+v", w)
			}
		})
	}
}
