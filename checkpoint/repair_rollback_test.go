package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"

	"prdrunner/checkpoint/state"
)

// gone back is a session that went back from its fourth step to its second, as
// far as the test says: until it is begun, failed or completed.
func (f *fixture) goneBack(end RollbackEnd) (to, safety string) {
	f.t.Helper()
	ctx := context.Background()
	to = f.stopped()[0]
	x := f.lock()
	if end == RollbackCarriedOut {
		safety, err := rooms.RollBack(ctx, x, nil, to, state.RollbackState, "")
		must(f.t, err)
		must(f.t, x.Close())
		return to, safety
	}
	must(f.t, x.WithExclusiveLock(ctx, func() error { return beginRollback(x, to) }))
	safety = x.State().Rollback.Safety
	if end == RollbackTakenBack {
		commit(f.t, x, state.RollbackFailed{ID: x.State().Rollback.ID, Error: "the disk is full"})
	}
	must(f.t, x.Close())
	return to, safety
}

// beginRollback records a rollback of the state that is not carried out: its intent, and the
// checkpoint that undoes it.
func beginRollback(x *Session, to string) error {
	ref, err := x.State().FindCheckpoint(to)
	if err != nil {
		return err
	}
	if _, err := x.store.ReadFile(x.State(), ref); err != nil {
		return err
	}
	safety, made := x.CheckpointKeeping(state.TriggerPreRollback, "", nil, map[string]string{ref.ID: "a rollback goes back to it"})
	if !made {
		return fmt.Errorf("roll back: %w", ErrSwitchedOff)
	}
	x.Add(state.RollbackStarted{ID: uuid.NewString(), To: ref.ID, ToSeq: ref.Seq, ToStep: ref.Step, Safety: safety, Scope: state.RollbackState, By: by})
	return x.Commit(context.Background())
}

// A rollback that was over is not begun again by a journal that is rebuilt: how
// it ended is read where that still stands, and where it is not known no file
// is touched for it.
func TestRebuildJournalAfterRollback(t *testing.T) {
	t.Parallel()
	const noManifest = "PRD-009/manifest.json"
	tests := []struct {
		name    string
		ended   RollbackEnd // what really happened
		damage  func(lines [][]byte) []byte
		damaged []string // other files: "to" and "safety" are those of these checkpoints
		want    RollbackEnd
		step    int
	}{
		{name: "completed, and readable", ended: RollbackCarriedOut, damage: early, want: RollbackCarriedOut, step: 2},
		{name: "completed, and no other file is", ended: RollbackCarriedOut, damage: early, damaged: []string{noManifest, "to"}, want: RollbackCarriedOut, step: 2},
		{name: "failed, and readable", ended: RollbackTakenBack, damage: early, want: RollbackTakenBack, step: 4},
		{name: "completed, says the manifest", ended: RollbackCarriedOut, damage: cutLast, want: RollbackCarriedOut, step: 2},
		{name: "completed, says the manifest, and the lines give its state", ended: RollbackCarriedOut, damage: flipLast, damaged: []string{"to", "safety"}, want: RollbackCarriedOut, step: 2},
		{name: "failed, says the manifest", ended: RollbackTakenBack, damage: flipLast, want: RollbackTakenBack, step: 4},
		{name: "completed, and nothing says so", ended: RollbackCarriedOut, damage: flipLast, damaged: []string{noManifest}, want: RollbackUntold, step: 4},
		{name: "completed, and its state is lost", ended: RollbackCarriedOut, damage: earlyAndLast, damaged: []string{"to"}, want: RollbackUntold, step: 4},
		{name: "failed, and nothing says so", ended: RollbackTakenBack, damage: earlyAndLast, damaged: []string{noManifest}, want: RollbackUntold, step: 4},
		{name: "not finished", ended: RollbackUnfinished, damage: early, want: RollbackUnfinished, step: 4},
		{name: "not finished, as far as can be read", ended: RollbackUnfinished, damage: torn, want: RollbackUntold, step: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			to, safety := f.goneBack(tt.ended)
			for _, name := range tt.damaged {
				switch name {
				case "to":
					name = f.checkpointFile(to)
				case "safety":
					name = f.checkpointFile(safety)
				}
				f.flip(name, 100)
			}
			f.write("PRD-009/journal.jsonl", tt.damage(linesOf(f.read("PRD-009/journal.jsonl"))))
			r, err := f.open().RebuildJournal(context.Background(), "PRD-009", by)
			must(t, err)
			if len(r.Rollbacks) != 1 || r.Rollbacks[0].End != tt.want || r.Rollbacks[0].To != to || r.Rollbacks[0].Safety != safety || r.Step != tt.step {
				t.Errorf("step %d, %+v", r.Step, r.Rollbacks)
			}
			snap, err := f.open().Load("PRD-009")
			must(t, err)
			checkRebuiltRollback(t, snap.State, r, tt.want)
			x := f.lock()
			if _, err := rooms.RollBack(context.Background(), x, nil, safety, state.RollbackState, ""); (err == nil) == (tt.want == RollbackUnfinished) {
				t.Errorf("back to the safety checkpoint: %v", err)
			}
			must(t, x.Close())
		})
	}
}

func checkRebuiltRollback(t *testing.T, s *state.State, r *JournalRebuild, want RollbackEnd) {
	t.Helper()
	if open := s.Rollback != nil; open != (want == RollbackUnfinished) || s.Steps != r.Step {
		t.Fatalf("step %d, rollback %+v", s.Steps, s.Rollback)
	}
	if want == RollbackUnfinished {
		return
	}
	if len(s.Rollbacks) != 1 || (s.Rollbacks[0].Error == "") != (want == RollbackCarriedOut) {
		t.Errorf("history: %+v", s.Rollbacks)
	}
	if ref := s.Checkpoint(r.Rollbacks[0].Safety); ref == nil || ref.Pinned != (want == RollbackUntold) {
		t.Errorf("the safety checkpoint: %+v", ref)
	}
	if len(r.Lost) > 0 {
		t.Errorf("lost: %+v", r.Lost)
	}
}

// A rollback that was begun in a commit that is lost is named, unless it is
// known to be over: nothing will finish it.
func TestRebuildJournalLosesRollback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ended  RollbackEnd
		damage func([][]byte) []byte
		named  bool
	}{
		{RollbackUnfinished, early, true},
		{RollbackCarriedOut, early, false},
		{RollbackCarriedOut, earlyAndLast, false}, // the manifest says so
	} {
		f := inMemory(t)
		to, safety := f.goneBack(tt.ended)
		f.flip(f.checkpointFile(safety), 100)
		f.write("PRD-009/journal.jsonl", tt.damage(linesOf(f.read("PRD-009/journal.jsonl"))))
		r, err := f.open().PlanJournalRebuild("PRD-009")
		must(t, err)
		if named := len(r.Rollbacks) == 1 && r.Rollbacks[0] == (MetRollback{ID: r.Rollbacks[0].ID, To: to, Safety: safety, Scope: state.RollbackState, End: RollbackUntold}); named != tt.named {
			t.Errorf("%s: %+v", tt.ended, r.Rollbacks)
		}
		if r.state.Rollback != nil || r.Step != 4 {
			t.Errorf("%s: step %d, %+v", tt.ended, r.Step, r.state.Rollback)
		}
	}
}

// What is unreadable before the state that a journal begins anew with is in
// that state: no once step becomes uncertain for it.
func TestRebuildJournalKnowsWhatCameBefore(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	ids := f.stopped()
	f.write("PRD-009/journal.jsonl", early(linesOf(f.read("PRD-009/journal.jsonl"))))
	r, err := f.open().PlanJournalRebuild("PRD-009")
	must(t, err)
	if r.From != ids[2] || r.Unreadable != 1 || r.Untold != 0 {
		t.Errorf("from %s, %d unreadable, %d untold", filepath.Base(r.From), r.Unreadable, r.Untold)
	}
}

func linesOf(journal []byte) [][]byte {
	return bytes.SplitAfter(bytes.TrimSuffix(journal, []byte("\n")), []byte("\n"))
}

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

// What is lost is counted in two ways, by the lines that can't be read and by
// the numbers that are named and not there, of which neither alone is enough.
func TestUntoldCommits(t *testing.T) {
	t.Parallel()
	const seq = 5 // of the chosen state
	for _, tt := range []struct {
		name  string
		gaps  []gap
		after []uint64 // Readable commits
		last  uint64   // that anything names
		lines int
		more  bool
	}{
		{name: "nothing is lost", last: seq},
		{name: "a line before the state", gaps: []gap{{lines: 1, from: 2, before: 4}}, after: []uint64{4, 5}, last: seq},
		{name: "a line between two", gaps: []gap{{lines: 1, from: 5, before: 7}}, after: []uint64{7}, last: 7, lines: 1, more: true},
		{name: "more lines than commits fit", gaps: []gap{{lines: 4, from: 5, before: 7}}, after: []uint64{7}, last: 7, lines: 1, more: true},
		{name: "lines from before the state on", gaps: []gap{{lines: 4, from: 3, before: 8}}, after: []uint64{8}, last: 8, lines: 2, more: true},
		{name: "two at the end", gaps: []gap{{lines: 2, from: 5}}, last: seq, lines: 2, more: true},
		{name: "two at the end, of which the state has one", gaps: []gap{{lines: 2, from: 4}}, last: seq, lines: 1, more: true},
		{name: "two at the end that the state may have", gaps: []gap{{lines: 2, from: 3}}, last: seq, more: true},
		{name: "between two and at the end", gaps: []gap{{lines: 1, from: 5, before: 7}, {lines: 2, from: 7}}, after: []uint64{7}, last: 7, lines: 3, more: true},
		{name: "before a line that was moved", gaps: []gap{{lines: 3, from: 8, before: 6}}, after: []uint64{8, 6}, last: 8, lines: 3, more: true},
		{name: "before a line that was moved to before the state", gaps: []gap{{lines: 3, from: 4, before: 2}}, last: seq, lines: 3, more: true},
		{name: "lines that are not there", after: []uint64{7, 9}, last: 9, lines: 2, more: true},
		{name: "commits that only other files name", last: 9, lines: 4, more: true},
		{name: "a line between two, and lines that are not there", gaps: []gap{{lines: 1, from: 5, before: 7}}, after: []uint64{7, 10}, last: 10, lines: 3, more: true},
	} {
		old := &salvaged{gaps: tt.gaps, last: tt.last}
		for _, n := range tt.after {
			old.after = append(old.after, state.Commit{Seq: n})
		}
		if lines, more := old.untold(seq); lines != tt.lines || more != tt.more {
			t.Errorf("%s: %d lines, more %v; want %d, %v", tt.name, lines, more, tt.lines, tt.more)
		}
	}
}
