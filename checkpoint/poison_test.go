package checkpoint_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// TestPoisonedJournal makes one write or sync of the journal fail. The session must
// acknowledge nothing from then on and not retry, although the disk works again. All
// added events must be in a rescue copy, which readers see and the next owner adopts.
func TestPoisonedJournal(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"write", "sync"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			bad := &faults.Faulty{FS: store.NewMemory(), Op: op, Part: "PRD-009/journal.jsonl"}
			f := checkpointtest.On(t, bad, "/ws/.runner")
			x := f.Run()
			acknowledged := x.Durable()
			bad.On.Store(true)
			x.Add(state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
			x.Flush()
			x.Add(state.PauseAsked{By: checkpointtest.By, Reason: "behind it"})
			ack := <-x.Acks()
			_, err := x.Acknowledge(ack)
			var poisoned *checkpoint.PoisonedError
			if !errors.As(err, &poisoned) || !errors.Is(err, faults.ErrDisk) || poisoned.Rescue == "" {
				t.Fatalf("acknowledge: %v", err)
			}
			want := x.State().Clone()
			bad.On.Store(false) // the disk works again; the session must not retry
			x.Add(state.WorkstreamFailed{Workstream: "WS2"})
			x.Flush()
			if a := <-x.Acks(); a.Err == nil {
				t.Error("a poisoned session acknowledges")
			}
			if _, err := x.Drain(context.Background()); !errors.As(err, &poisoned) {
				t.Errorf("drain: %v", err)
			}
			if x.Durable() != acknowledged || bad.Used.Load() != 1 {
				t.Errorf("durable %d, %d failures", x.Durable(), bad.Used.Load())
			}
			if err := x.Close(); !errors.As(err, &poisoned) {
				t.Errorf("close: %v", err)
			}

			snap, err := f.Open().Load("PRD-009")
			checkpointtest.Must(t, err)
			if snap.RescuePath != poisoned.Rescue {
				t.Errorf("rescue %q, want %q", snap.RescuePath, poisoned.Rescue)
			}
			checkpointtest.Same(t, "state that readers see", snap.State, want)
			x = f.Lock()
			if !x.Unclean() {
				t.Error("a poisoned end counts as clean")
			}
			checkpointtest.Same(t, "state with the rescue copy", x.State(), want)
			if _, err := f.FS.Lstat(poisoned.Rescue); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the rescue copy still exists")
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestRescueThatTheJournalHasIsRemoved makes a sync fail although the written bytes reach
// the disk. The journal then has all that the rescue copy has: readers must not report
// the copy, and the next owner must remove it.
func TestRescueThatTheJournalHasIsRemoved(t *testing.T) {
	t.Parallel()
	bad := &faults.Faulty{FS: store.NewMemory(), Op: "sync", Part: "PRD-009/journal.jsonl"}
	f := checkpointtest.On(t, bad, "/ws/.runner")
	x := f.Run()
	bad.On.Store(true)
	x.Add(state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	_, err := x.Drain(context.Background())
	var poisoned *checkpoint.PoisonedError
	if !errors.As(err, &poisoned) || poisoned.Rescue == "" {
		t.Fatalf("drain: %v", err)
	}
	want := x.State().Clone()
	if err := x.Close(); !errors.As(err, &poisoned) {
		t.Errorf("close: %v", err)
	}
	bad.On.Store(false)

	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if snap.RescuePath != "" {
		t.Errorf("readers are told of %s, all of which is in the journal", snap.RescuePath)
	}
	if _, err := f.FS.Lstat(poisoned.Rescue); err != nil {
		t.Fatalf("a reader removed the rescue copy: %v", err)
	}
	x = f.Lock()
	checkpointtest.Same(t, "state", x.State(), want)
	if _, err := f.FS.Lstat(poisoned.Rescue); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the rescue copy still exists")
	}
	checkpointtest.Must(t, x.Close())
}

// TestForeignRescueIsLeftAlone restores an older journal and continues it, so that a
// rescue copy does not fit any more. The next owner must neither adopt nor remove the
// copy.
func TestForeignRescueIsLeftAlone(t *testing.T) {
	t.Parallel()
	bad := &faults.Faulty{FS: store.NewMemory(), Op: "sync", Part: "PRD-009/journal.jsonl"}
	f := checkpointtest.On(t, bad, "/ws/.runner")
	x := f.Run()
	journal := f.Read("PRD-009/journal.jsonl")
	bad.On.Store(true)
	x.Add(state.PauseAsked{By: checkpointtest.By})
	_, err := x.Drain(context.Background())
	var poisoned *checkpoint.PoisonedError
	if !errors.As(err, &poisoned) {
		t.Fatal(err)
	}
	bad.On.Store(false)
	if err := x.Close(); err == nil {
		t.Error("close returned no error")
	}
	// A user restores the older journal, and the session continues from there.
	f.Write("PRD-009/journal.jsonl", journal)
	checkpointtest.Must(t, f.FS.Rename(poisoned.Rescue, poisoned.Rescue+".away"))
	x = f.Lock()
	checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	checkpointtest.Must(t, x.Close())
	checkpointtest.Must(t, f.FS.Rename(poisoned.Rescue+".away", poisoned.Rescue))
	x = f.Lock()
	if x.State().Requested != nil {
		t.Error("a foreign rescue copy was adopted")
	}
	checkpointtest.Must(t, x.Close())
	if _, err := f.FS.Lstat(poisoned.Rescue); err != nil {
		t.Error("a foreign rescue copy was removed")
	}
}

// TestRescueWithALineTooLongIsLeftAlone: the next owner must neither adopt nor remove a
// rescue copy with a line that is longer than a journal line may be, since no process
// could read the journal afterwards.
func TestRescueWithALineTooLongIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	want := x.State().Clone()
	c := state.Commit{Seq: x.Durable() + 1, Time: checkpointtest.Clock()(), Prev: x.LastSum(), Events: []state.Event{
		state.PauseAsked{By: checkpointtest.By, Reason: state.Text(strings.Repeat("x", store.MaxRecord))},
	}}
	path, err := x.WriteRescue(&c)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	for range 2 {
		x = f.Lock()
		checkpointtest.Same(t, "state", x.State(), want)
		checkpointtest.Must(t, x.Close())
	}
	if _, err := f.FS.Lstat(path); err != nil {
		t.Errorf("the rescue copy is gone: %v", err)
	}
}

// TestDerivedErrorsCanBeRepeated makes a disk operation fail while derived files are
// written. WriteDerived must return a DerivedError each time. Once the disk works,
// WriteDerived must write every file.
func TestDerivedErrorsCanBeRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ op, part string }{
		{"sync", "checkpoints/.tmp"}, {"rename", "checkpoints/CP-"}, {"syncdir", "checkpoints"}, {"write", ".tmp-manifest"}, {"rename", "latest"}, {"rename", ".runner/PRD-009.json"}, {"close", ".tmp-PRD-009.json"},
	} {
		bad := &faults.Faulty{FS: store.NewMemory(), Op: tt.op, Part: tt.part}
		f := checkpointtest.On(t, bad, "/ws/.runner")
		x := f.Run()
		x.Checkpoint(state.TriggerBatchComplete, "", nil)
		checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
		x.Checkpoint(state.TriggerManual, "", nil)
		checkpointtest.Commit(t, x)
		bad.On.Store(true)
		var derived *checkpoint.DerivedError
		for range 2 {
			if err := x.WriteDerived(context.Background()); !errors.As(err, &derived) || !errors.Is(err, faults.ErrDisk) {
				t.Errorf("%v: %v", tt, err)
			}
		}
		bad.On.Store(false)
		checkpointtest.Must(t, x.WriteDerived(context.Background()))
		for _, ref := range x.State().Checkpoints {
			cp, err := f.Open().ReadCheckpoint("PRD-009", ref.ID)
			checkpointtest.Must(t, err)
			if cp.State.Seq != ref.Seq {
				t.Errorf("%v: %s holds the state of %d, want %d", tt, ref.ID, cp.State.Seq, ref.Seq)
			}
			f.Read("PRD-009/checkpoints/" + ref.ID + ".json")
		}
		checkpointtest.Must(t, x.Close())
	}
}

// threeDue returns a session with three checkpoints that have no files yet, on a disk
// where op fails for the file of the second checkpoint.
func threeDue(t *testing.T, op string) (bad *faults.Faulty, x *checkpoint.Session, ids []string) {
	t.Helper()
	bad = &faults.Faulty{FS: store.NewMemory(), Op: op}
	x = checkpointtest.On(t, bad, "/ws/.runner").Run()
	for range 3 {
		id, _ := x.Checkpoint(state.TriggerManual, "", nil)
		ids = append(ids, id)
		checkpointtest.Commit(t, x)
	}
	bad.Part = ids[1]
	bad.On.Store(true)
	return bad, x, ids
}

// wantFiles fails the test unless exactly the checkpoints in want have files, nothing
// remains to be written or removed, and `latest` names the newest.
func wantFiles(t *testing.T, x *checkpoint.Session, want ...string) {
	t.Helper()
	left, err := x.Store().Layout().CheckpointsIn(x.Store().Layout().PRDDir("PRD-009")).IDs()
	if slices.Sort(want); err != nil || !slices.Equal(left, want) {
		t.Errorf("checkpoints with files: %q, %v; want %q", left, err, want)
	}
	if u := x.Unwritten(); u.Due+u.Lost+u.Encoded+u.Bytes+u.Unkept > 0 {
		t.Errorf("still to write: %+v", u)
	}
	newest := x.State().Checkpoints
	if link, err := x.Store().FS().Readlink(filepath.Join(x.Store().Layout().PRDDir(x.PRD()), disk.LatestName)); len(newest) > 0 &&
		(err != nil || link != filepath.Join(disk.CheckpointsDir, newest[len(newest)-1].ID+disk.JSONExt)) {
		t.Errorf("latest names %s, %v; want %s", link, err, newest[len(newest)-1].ID)
	}
}

// TestCheckpointsThatGoBeforeTheyAreWritten removes two checkpoints after their files
// could not be written. The next WriteDerived must not write files for them.
func TestCheckpointsThatGoBeforeTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"sync", "rename", "syncdir"} {
		bad, x, ids := threeDue(t, op)
		if op == "syncdir" { // all three files have their names by then
			bad.Part = "checkpoints"
		}
		if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) || !strings.Contains(err.Error(), bad.Part) {
			t.Errorf("%s: the second file can't be written: error %v", op, err)
		}
		bad.On.Store(false)
		checkpointtest.Commit(t, x, state.CheckpointsRemoved{IDs: ids[:2]})
		checkpointtest.Must(t, x.WriteDerived(t.Context()))
		wantFiles(t, x, ids[2])
		checkpointtest.Must(t, x.Close())
	}
}

// TestSkippedCheckpoints makes the file of one checkpoint unwritable, in one case
// ("lost") a file that only the journal can restore. The other files must be written,
// SkipDerived must skip exactly this checkpoint, and no part of its file may remain. If
// the sync of the directory fails, all new checkpoints are skipped.
func TestSkippedCheckpoints(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"sync", "rename", "syncdir", "lost"} {
		bad, x, ids := threeDue(t, strings.Replace(op, "lost", "sync", 1))
		skipped := ids[1:2]
		switch op {
		case "syncdir":
			written, _ := x.Checkpoint(state.TriggerManual, "", nil) // the link must name it again in the end
			checkpointtest.Commit(t, x)
			bad.On.Store(false)
			checkpointtest.Must(t, x.WriteDerived(t.Context()))
			bad.Part, skipped = "checkpoints", nil
			bad.On.Store(true)
			for range 3 {
				id, _ := x.Checkpoint(state.TriggerManual, "", nil)
				skipped = append(skipped, id)
				checkpointtest.Commit(t, x)
			}
			ids = slices.Concat(ids, []string{written}, skipped)
			slices.Sort(skipped)
		case "lost":
			checkpointtest.Must(t, x.LoseDue())
		}
		if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) {
			t.Errorf("%s: the second file can't be written: error %v", op, err)
		}
		if got, left := x.SkipDerived(); len(left) > 0 || !slices.Equal(got, skipped) {
			t.Errorf("%s: skipped %q, want %q", op, got, skipped)
		}
		bad.On.Store(false)
		checkpointtest.Commit(t, x, state.CheckpointSkipped{IDs: skipped})
		checkpointtest.Must(t, x.WriteDerived(t.Context()))
		wantFiles(t, x, slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(skipped, id) })...)
		checkpointtest.Must(t, x.Close())
	}
}

// TestWhatIsNeededIsNotSkipped: SkipDerived must not skip a pinned checkpoint, nor one
// that may hold the only copy of overwritten files. Both must stay on record without a
// file, and the next owner must write their files.
func TestWhatIsNeededIsNotSkipped(t *testing.T) {
	t.Parallel()
	bad := &faults.Faulty{FS: store.NewMemory(), Op: "sync", Part: "checkpoints/.tmp"}
	f := checkpointtest.On(t, bad, "/ws/.runner")
	x := f.Run()
	edits, _ := x.Checkpoint(state.TriggerConflictStart, "edits", nil)
	pinned, _ := x.Checkpoint(state.TriggerManual, "", nil)
	other, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x, state.CheckpointPinned{ID: pinned, By: checkpointtest.By})
	needed := []string{edits, pinned}
	slices.Sort(needed)
	written := func() []bool { return []bool{x.Written(edits), x.Written(pinned), x.Written(other)} }
	if slices.Contains(written(), true) {
		t.Errorf("written before WriteDerived: %t", written())
	}
	bad.On.Store(true)
	if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) || slices.Contains(written(), true) {
		t.Errorf("no file can be written: error %v, written %t", err, written())
	}
	if ids, left := x.SkipDerived(); !slices.Equal(ids, []string{other}) || !slices.Equal(left, needed) {
		t.Errorf("skipped %q, left without a file %q", ids, left)
	}
	checkpointtest.Commit(t, x, state.CheckpointSkipped{IDs: []string{other}})
	if slices.Contains(written(), true) {
		t.Errorf("written after skipping: %t", written())
	}
	bad.On.Store(false)
	checkpointtest.Must(t, x.Close())
	x = f.Lock()
	checkpointtest.Must(t, x.WriteDerived(t.Context()))
	if !slices.Equal(written(), []bool{true, true, false}) {
		t.Errorf("written by the next owner: %t", written())
	}
	for _, id := range needed {
		f.Read("PRD-009/checkpoints/" + id + ".json")
	}
	checkpointtest.Must(t, x.Close())
}

// TestCheckpointThatTheJournalHasNoMore removes the journal while a checkpoint file is
// still to be written. WriteDerived and Close must report that the checkpoint is lost,
// and not drop it silently.
func TestCheckpointThatTheJournalHasNoMore(t *testing.T) {
	t.Parallel()
	bad, x, ids := threeDue(t, "sync")
	if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) {
		t.Errorf("the second file can't be written: error %v", err)
	}
	bad.On.Store(false)
	checkpointtest.Must(t, bad.Remove(x.Store().Layout().JournalPath(x.PRD())))
	for range 2 {
		if err := x.WriteDerived(t.Context()); !errors.Is(err, checkpoint.ErrGone) || !strings.Contains(err.Error(), ids[1]) {
			t.Errorf("the journal is gone: error %v", err)
		}
	}
	if err := x.Close(); !errors.Is(err, checkpoint.ErrGone) {
		t.Errorf("close: %v", err)
	}
}

// TestOneFailureIsTold makes a disk operation fail once. WriteDerived must report the
// failure, since a disk that fails now and then may soon fail for good. The next
// WriteDerived must write everything.
func TestOneFailureIsTold(t *testing.T) {
	t.Parallel()
	for op, part := range map[string]string{"sync": "checkpoints/.tmp", "rename": "checkpoints/CP-", "syncdir": "checkpoints", "write": ".tmp-manifest", "close": ".tmp-PRD-009.json"} {
		bad, x, ids := threeDue(t, op)
		bad.Part, bad.Most = part, 1
		if op == "rename" {
			bad.Most = 2 // after a failed link Runner renames
		}
		if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) {
			t.Errorf("%s failed once: error %v", op, err)
		}
		checkpointtest.Must(t, x.WriteDerived(t.Context()))
		wantFiles(t, x, ids...)
		checkpointtest.Must(t, x.Close())
	}
}

// TestManyCheckpointsAreWritten makes checkpoints of a state so large that their files
// are encoded in several batches, and makes one of the files unwritable. The other files
// must be written, and once the disk works, that file too.
func TestManyCheckpointsAreWritten(t *testing.T) {
	t.Parallel()
	for _, fail := range []int{0, 3, 5} { // the first checkpoint, one in between, and the last
		for _, op := range []string{"rename", "sync", "syncdir"} {
			bad := &faults.Faulty{FS: store.NewMemory(), Op: op}
			x := checkpointtest.LockPRD(t, checkpointtest.On(t, bad, "/ws/.runner").Open(), "PRD-009")
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 6000)))
			var ids []string
			made := func() {
				id, _ := x.Checkpoint(state.TriggerManual, "", nil)
				ids = append(ids, id)
			}
			for i, w := range x.State().Phases[0].Workstreams[:12] {
				x.Add(state.WorkstreamStarted{Workstream: w.Name, Attempt: 1}, state.WorkstreamCompleted{Workstream: w.Name, Work: &state.Work{Attempt: 1}})
				if i%2 == 0 {
					made()
				}
				checkpointtest.Commit(t, x)
			}
			bad.Part = ids[fail]
			if op == "syncdir" {
				bad.Part = "checkpoints"
			}
			bad.On.Store(true)
			for range 3 {
				if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) {
					t.Errorf("%s %d: error %v", op, fail, err)
				}
				if u := x.Unwritten(); u.Bytes > 0 || u.Due > 0 || op != "syncdir" && u.Lost != 1 {
					t.Errorf("%s %d: still to write: %+v", op, fail, u)
				}
				made()
				checkpointtest.Commit(t, x)
			}
			bad.On.Store(false)
			checkpointtest.Must(t, x.WriteDerived(t.Context()))
			wantFiles(t, x, ids...)
			for _, ref := range x.State().Checkpoints {
				stored, err := x.Store().Layout().CheckpointsIn(x.Store().Layout().PRDDir("PRD-009")).Read(ref.ID)
				checkpointtest.Must(t, err)
				c, err := stored.Decode()
				checkpointtest.Must(t, err)
				if c.State.Seq != ref.Seq {
					t.Errorf("%s %d: %s holds the state of %d, want %d", op, fail, ref.ID, c.State.Seq, ref.Seq)
				}
			}
			checkpointtest.Must(t, x.Close())
		}
	}
}

// TestCloseThatFails: Close must return an error from closing the journal file, since on
// some file systems only that error tells that bytes were lost.
func TestCloseThatFails(t *testing.T) {
	t.Parallel()
	bad := &faults.Faulty{FS: store.NewMemory(), Op: "close", Part: "PRD-009/journal.jsonl"}
	x := checkpointtest.On(t, bad, "/ws/.runner").Run()
	bad.On.Store(true)
	if err := x.Close(); !errors.Is(err, faults.ErrDisk) || bad.Used.Load() != 1 {
		t.Errorf("closed %d times: %v", bad.Used.Load(), err)
	}
}

// TestWriteThatFailsLeavesNothing makes each operation of a file's replacement fail. The
// file must keep its old content, and no temporary file may remain.
func TestWriteThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"open", "write", "sync", "close", "rename"} {
		bad := &faults.Faulty{FS: store.NewMemory(), Op: op, Part: "PRD-009.json"}
		checkpointtest.Must(t, store.MkdirAll(bad, "/ws"))
		checkpointtest.Must(t, store.WriteFile(bad, "/ws/PRD-009.json", []byte("before")))
		bad.On.Store(true)
		if err := store.WriteFile(bad, "/ws/PRD-009.json", []byte("after")); !errors.Is(err, faults.ErrDisk) {
			t.Errorf("%s: %v", op, err)
		}
		bad.On.Store(false)
		entries, err := bad.ReadDir("/ws")
		checkpointtest.Must(t, err)
		if len(entries) != 1 || entries[0].Name() != "PRD-009.json" {
			t.Errorf("%s: remaining files %v", op, entries)
		}
		if data, err := store.ReadFile(bad, "/ws/PRD-009.json"); err != nil || string(data) != "before" {
			t.Errorf("%s: %q, %v", op, data, err)
		}
	}
}

// TestDocumentBesideLostCheckpoints: the PRD document must be written with the current
// state even if the checkpoint files, the manifest or `latest`, which are in another
// directory, can't be written.
func TestDocumentBesideLostCheckpoints(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"checkpoints/", "latest", "manifest.json"} {
		bad := &faults.Faulty{FS: store.NewMemory(), Op: "rename", Part: part}
		f := checkpointtest.On(t, bad, "/ws/.runner")
		x := f.Run()
		checkpointtest.Must(t, x.WriteDerived(t.Context()))
		x.Checkpoint(state.TriggerManual, "", nil)
		checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
		bad.On.Store(true)
		if err := x.WriteDerived(t.Context()); !errors.Is(err, faults.ErrDisk) {
			t.Errorf("%s: %v", part, err)
		}
		d, err := document.Decode([]byte(f.Read("PRD-009.json")))
		if checkpointtest.Must(t, err); d.Runner.Seq != x.State().Seq {
			t.Errorf("%s: the document is of commit %d, the session at %d", part, d.Runner.Seq, x.State().Seq)
		}
		bad.On.Store(false)
		checkpointtest.Must(t, x.Close())
	}
}

// linkless is a file system without symbolic links, such as FAT.
type linkless struct{ store.FS }

func (linkless) Symlink(_, name string) error {
	return &fs.PathError{Op: "symlink", Path: name, Err: syscall.EPERM}
}

// TestWithoutSymbolicLinks: on a file system without symbolic links, all derived files
// except `latest` must be written.
func TestWithoutSymbolicLinks(t *testing.T) {
	t.Parallel()
	f := checkpointtest.On(t, linkless{store.NewMemory()}, "/ws/.runner")
	x := f.Run()
	id, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(t.Context()))
	checkpointtest.Must(t, x.Close())
	f.Read("PRD-009/checkpoints/" + id + ".json")
	f.Read("PRD-009/manifest.json")
	f.Read("PRD-009.json")
}
