package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
)

// goneBack makes a session with a rollback from its fourth step to its second. The
// rollback ends as end says: unfinished, failed or completed.
func goneBack(f *checkpointtest.Fixture, end repair.RollbackEnd) (to, safety string) {
	f.T.Helper()
	ctx := context.Background()
	to = checkpointtest.Stopped(f)[0]
	x := f.Lock()
	if end == repair.RollbackCarriedOut {
		safety, err := rollback.Run(ctx, x, nil, rollback.Options{To: to, Scope: state.RollbackState, By: checkpointtest.By})
		checkpointtest.Must(f.T, err)
		checkpointtest.Must(f.T, x.Close())
		return to, safety.Safety
	}
	checkpointtest.Must(f.T, x.WithExclusiveLock(ctx, func() error { return beginRollback(x, to, 0) }))
	safety = x.State().Rollback.Safety
	if end == repair.RollbackTakenBack {
		checkpointtest.Commit(f.T, x, state.RollbackFailed{ID: x.State().Rollback.ID, Error: "the disk is full"})
	}
	checkpointtest.Must(f.T, x.Close())
	return to, safety
}

// beginRollback records the intent of a rollback of the state, and the checkpoint that
// undoes it. It does not carry out the rollback. stateSeq names the commit whose state it
// takes; 0 means that of the checkpoint.
func beginRollback(x *checkpoint.Session, to string, stateSeq uint64) error {
	ref, err := x.State().FindCheckpoint(to)
	if err != nil {
		return err
	}
	if _, err := x.Store().ReadFile(x.State(), ref); err != nil {
		return err
	}
	safety, made := x.CheckpointKeeping(state.TriggerPreRollback, "", nil, map[string]string{ref.ID: "a rollback goes back to it"})
	if !made {
		return fmt.Errorf("roll back: %w", checkpoint.ErrSwitchedOff)
	}
	x.Add(state.RollbackStarted{ID: uuid.NewString(), To: ref.ID, ToSeq: ref.Seq, ToStep: ref.Step, StateSeq: stateSeq, Safety: safety, Scope: state.RollbackState, By: checkpointtest.By})
	return x.Commit(context.Background())
}

// TestRebuildJournalAfterRollback rebuilds the journal of a session with a rollback. The
// rebuild must find out from the readable lines or the manifest how the rollback ended,
// so that a rollback that has ended does not begin again. If that can't be known, the
// state must be the one before the rollback, with a pinned checkpoint that undoes it.
func TestRebuildJournalAfterRollback(t *testing.T) {
	t.Parallel()
	const noManifest = "PRD-009/manifest.json"
	tests := []struct {
		name    string
		ended   repair.RollbackEnd // how the rollback really ended
		damage  func(lines [][]byte) []byte
		damaged []string // other files; "to" and "safety" mean the files of these checkpoints
		want    repair.RollbackEnd
		step    int
	}{
		{name: "completed, and readable", ended: repair.RollbackCarriedOut, damage: early, want: repair.RollbackCarriedOut, step: 2},
		{name: "completed, and no other file is", ended: repair.RollbackCarriedOut, damage: early, damaged: []string{noManifest, "to"}, want: repair.RollbackCarriedOut, step: 2},
		{name: "failed, and readable", ended: repair.RollbackTakenBack, damage: early, want: repair.RollbackTakenBack, step: 4},
		{name: "completed, says the manifest", ended: repair.RollbackCarriedOut, damage: cutLast, want: repair.RollbackCarriedOut, step: 2},
		{name: "completed, says the manifest, and the lines give its state", ended: repair.RollbackCarriedOut, damage: flipLast, damaged: []string{"to", "safety"}, want: repair.RollbackCarriedOut, step: 2},
		{name: "failed, says the manifest", ended: repair.RollbackTakenBack, damage: flipLast, want: repair.RollbackTakenBack, step: 4},
		{name: "completed, and nothing says so", ended: repair.RollbackCarriedOut, damage: flipLast, damaged: []string{noManifest}, want: repair.RollbackUntold, step: 4},
		{name: "completed, and its state is lost", ended: repair.RollbackCarriedOut, damage: earlyAndLast, damaged: []string{"to"}, want: repair.RollbackUntold, step: 4},
		{name: "failed, and nothing says so", ended: repair.RollbackTakenBack, damage: earlyAndLast, damaged: []string{noManifest}, want: repair.RollbackUntold, step: 4},
		{name: "not finished", ended: repair.RollbackUnfinished, damage: early, want: repair.RollbackUnfinished, step: 4},
		{name: "not finished, as far as can be read", ended: repair.RollbackUnfinished, damage: torn, want: repair.RollbackUntold, step: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			to, safety := goneBack(f, tt.ended)
			for _, name := range tt.damaged {
				switch name {
				case "to":
					name = f.CheckpointFile(to)
				case "safety":
					name = f.CheckpointFile(safety)
				}
				checkpointtest.FlipByte(f, name, 100)
			}
			f.Write("PRD-009/journal.jsonl", tt.damage(linesOf(f.Read("PRD-009/journal.jsonl"))))
			r, err := repair.RebuildJournal(context.Background(), f.Open(), "PRD-009", checkpointtest.By)
			checkpointtest.Must(t, err)
			if len(r.Rollbacks) != 1 || r.Rollbacks[0].End != tt.want || r.Rollbacks[0].To != to || r.Rollbacks[0].Safety != safety || r.Step != tt.step {
				t.Errorf("step %d, %+v", r.Step, r.Rollbacks)
			}
			snap, err := f.Open().Load("PRD-009")
			checkpointtest.Must(t, err)
			checkRebuiltRollback(t, snap.State, r, tt.want)
			x := f.Lock()
			if _, err := rollback.Run(context.Background(), x, nil, rollback.Options{To: safety, Scope: state.RollbackState, By: checkpointtest.By}); (err == nil) == (tt.want == repair.RollbackUnfinished) {
				t.Errorf("rollback to the safety checkpoint: %v", err)
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}

func checkRebuiltRollback(t *testing.T, s *state.State, r *repair.JournalRebuild, want repair.RollbackEnd) {
	t.Helper()
	if open := s.Rollback != nil; open != (want == repair.RollbackUnfinished) || s.Steps != r.Step {
		t.Fatalf("step %d, rollback %+v", s.Steps, s.Rollback)
	}
	if want == repair.RollbackUnfinished {
		return
	}
	if len(s.Rollbacks) != 1 || (s.Rollbacks[0].Error == "") != (want == repair.RollbackCarriedOut) {
		t.Errorf("history: %+v", s.Rollbacks)
	}
	if ref := s.Checkpoint(r.Rollbacks[0].Safety); ref == nil || ref.Pinned != (want == repair.RollbackUntold) {
		t.Errorf("the safety checkpoint: %+v", ref)
	}
	if len(r.Lost) > 0 {
		t.Errorf("lost: %+v", r.Lost)
	}
}

// TestRebuildJournalLosesRollback loses the commit that began a rollback. The rebuild
// must name the rollback, which no owner will finish, unless the rollback is known to
// have ended.
func TestRebuildJournalLosesRollback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ended  repair.RollbackEnd
		damage func([][]byte) []byte
		named  bool
	}{
		{repair.RollbackUnfinished, early, true},
		{repair.RollbackCarriedOut, early, false},
		{repair.RollbackCarriedOut, earlyAndLast, false}, // the manifest says so
	} {
		f := checkpointtest.InMemory(t)
		to, safety := goneBack(f, tt.ended)
		checkpointtest.FlipByte(f, f.CheckpointFile(safety), 100)
		f.Write("PRD-009/journal.jsonl", tt.damage(linesOf(f.Read("PRD-009/journal.jsonl"))))
		r, err := repair.PlanJournalRebuild(f.Open(), "PRD-009")
		checkpointtest.Must(t, err)
		if named := len(r.Rollbacks) == 1 && r.Rollbacks[0] == (repair.MetRollback{ID: r.Rollbacks[0].ID, To: to, Safety: safety, Scope: state.RollbackState, End: repair.RollbackUntold}); named != tt.named {
			t.Errorf("%s: %+v", tt.ended, r.Rollbacks)
		}
		if r.Begins().Rollback != nil || r.Step != 4 {
			t.Errorf("%s: step %d, %+v", tt.ended, r.Step, r.Begins().Rollback)
		}
	}
}

// TestRebuildJournalAfterRollbackToACommit rebuilds the journal of a session after a
// rollback to the state of a commit that only an earlier journal has. Only the manifest
// says that the rollback was carried out, so that the rebuild must read that journal.
func TestRebuildJournalAfterRollbackToACommit(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	x := f.Lock()
	to := x.State().Checkpoint(ids[1])
	checkpointtest.Must(t, x.Close())
	checkpointtest.Compact(t, f.Open())
	want, err := f.Open().Reader().CurrentSession("PRD-009").StateAfter(to.Seq - 2)
	checkpointtest.Must(t, err)
	x = f.Lock()
	checkpointtest.Must(t, x.WithExclusiveLock(t.Context(), func() error { return beginRollback(x, to.ID, want.Seq) }))
	checkpointtest.Commit(t, x, state.RollbackCompleted{ID: x.State().Rollback.ID, State: want.Clone()})
	stands := x.State().CurrentStep()
	checkpointtest.Must(t, x.Close())
	f.Write("PRD-009/journal.jsonl", flipLast(linesOf(f.Read("PRD-009/journal.jsonl"))))
	r, err := repair.RebuildJournal(t.Context(), f.Open(), "PRD-009", checkpointtest.By)
	checkpointtest.Must(t, err)
	if len(r.Rollbacks) != 1 || r.Rollbacks[0].End != repair.RollbackCarriedOut || r.State().CurrentStep() != stands {
		t.Errorf("rebuilt at step %d with %+v, want step %d after a rollback that was carried out", r.State().CurrentStep(), r.Rollbacks, stands)
	}
}

// TestRebuildJournalKnowsWhatCameBefore damages a line before the state with which the
// new journal begins. That state includes the line, so that no `once` workstream may
// become uncertain.
func TestRebuildJournalKnowsWhatCameBefore(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	ids := checkpointtest.Stopped(f)
	f.Write("PRD-009/journal.jsonl", early(linesOf(f.Read("PRD-009/journal.jsonl"))))
	r, err := repair.PlanJournalRebuild(f.Open(), "PRD-009")
	checkpointtest.Must(t, err)
	if r.From != ids[2] || r.Unreadable != 1 || r.Untold != 0 {
		t.Errorf("from %s, %d unreadable, %d untold", filepath.Base(r.From), r.Unreadable, r.Untold)
	}
}

// linesOf splits a journal into lines; the last one has no newline.
func linesOf(journal []byte) [][]byte {
	return bytes.SplitAfter(bytes.TrimSuffix(journal, []byte("\n")), []byte("\n"))
}

// early flips a bit in the third line.
func early(lines [][]byte) []byte {
	lines = slices.Clone(lines)
	lines[2] = flipped(lines[2], 20)
	return append(bytes.Join(lines, nil), '\n')
}

func flipLast(lines [][]byte) []byte {
	lines = slices.Clone(lines)
	lines[len(lines)-1] = flipped(lines[len(lines)-1], 20)
	return append(bytes.Join(lines, nil), '\n')
}

func cutLast(lines [][]byte) []byte { return bytes.Join(lines[:len(lines)-1], nil) }

func earlyAndLast(lines [][]byte) []byte { return flipLast(linesOf(early(lines))) }

// torn damages an early line and adds the beginning of another one.
func torn(lines [][]byte) []byte { return append(early(lines), `{"seq":`...) }
