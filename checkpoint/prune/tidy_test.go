package prune_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TestOnComplete completes a session with a pinned checkpoint, and tidies with each value
// of on_complete.
func TestOnComplete(t *testing.T) {
	t.Parallel()
	for _, what := range []checkpoint.OnComplete{checkpoint.KeepOnComplete, checkpoint.DeleteOnComplete, checkpoint.ArchiveOnComplete} {
		t.Run(string(what), func(t *testing.T) {
			t.Parallel()
			c := newScene(t, store.NewMemory())
			c.Options.Policy.OnComplete = what
			x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
			capture(t, x, "a file")
			checkpointtest.Produce(t, x, "w1")
			checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			checkpointtest.Mark(t, x, state.TriggerComplete)
			_, _, err := x.Pin(context.Background(), c.ids[1], true, checkpointtest.By, "")
			checkpointtest.Must(t, err)
			done, err := prune.Tidy(context.Background(), x, nil)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, x.Close())
			c.checkComplete(t, what, done)
		})
	}
}

// checkComplete checks what Tidy kept of a complete session: everything that retention
// keeps, only the pinned checkpoint, or the whole session in the archive.
func (c *scene) checkComplete(t *testing.T, what checkpoint.OnComplete, done prune.TidyResult) {
	t.Helper()
	s := c.Open()
	kept := checkpointtest.Has(t, s, c.artifacts...)
	last, _, err := s.Reader().LastComplete("PRD-009")
	checkpointtest.Must(t, err)
	if last == nil {
		t.Fatal("the completion of the session is not recorded")
	}
	snap, err := s.Load("PRD-009")
	switch what {
	case checkpoint.KeepOnComplete:
		checkpointtest.Must(t, err)
		if kept != "011" || len(snap.State.Checkpoints) != 3 { // four less one that retention does not keep
			t.Errorf("objects %s, %d checkpoints", kept, len(snap.State.Checkpoints))
		}
		checkpointtest.NeedsWhole(t, s, "PRD-009")
	case checkpoint.DeleteOnComplete:
		checkpointtest.Must(t, err)
		if kept != "010" || len(snap.State.Checkpoints) != 1 || snap.State.Capture != nil || snap.Document == nil {
			t.Errorf("objects %s, %d checkpoints, %+v", kept, len(snap.State.Checkpoints), snap.State.Capture)
		}
		if done.Collected.Objects < 4 || done.Collected.Kept != 1 {
			t.Errorf("%+v", done.Collected)
		}
		if files := state.RecordedFiles(snap.State); len(files) > 0 {
			t.Errorf("RecordedFiles returns files whose objects were removed: %v", files)
		}
		checkpointtest.NeedsWhole(t, s, "PRD-009") // what the pinned checkpoint needs
	case checkpoint.ArchiveOnComplete:
		if !errors.Is(err, checkpoint.ErrNoSession) || filepath.Base(done.Archived) != "S1" || kept != "111" {
			t.Errorf("load: %v; at %s, objects %s", err, done.Archived, kept)
		}
	}
}

// TestAfterEmptied tidies a complete session with on_complete "delete", which removes the
// objects of its artifacts. A later checkpoint must not need those objects. If a file of
// the workspace still has the content, a checkpoint must store the object again.
func TestAfterEmptied(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.Options.Policy.OnComplete = checkpoint.DeleteOnComplete
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
	_, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	checkpointtest.NeedsWhole(t, c.Open(), "PRD-009")

	dir := t.TempDir()
	checkpointtest.Must(t, os.WriteFile(filepath.Join(dir, "out"), []byte("version 2"), 0o600))
	s := c.Open()
	w, err := s.OpenWorkspace(dir, nil, workspace.GitOff)
	checkpointtest.Must(t, err)
	defer func() { checkpointtest.Must(t, w.Close()) }()
	x = checkpointtest.LockPRD(t, s, "PRD-009")
	_, err = x.Create(context.Background(), w, "keep it after all")
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	checkpointtest.NeedsWhole(t, c.Open(), "PRD-009")
	if kept := checkpointtest.Has(t, s, c.artifacts...); kept != "001" {
		t.Errorf("objects %s", kept)
	}
}

// TestTidyOfAnEmptySession tidies a complete session three times with on_complete
// "delete". Only the first Tidy may add a commit, whether or not a checkpoint is kept.
func TestTidyOfAnEmptySession(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(t *testing.T, x *checkpoint.Session){
		"no checkpoint": func(*testing.T, *checkpoint.Session) {},
		"a pinned one": func(t *testing.T, x *checkpoint.Session) {
			_, _, err := x.Pin(t.Context(), x.State().Checkpoints[1].ID, true, checkpointtest.By, "")
			checkpointtest.Must(t, err)
		},
		"one with files that a run overwrote": func(t *testing.T, x *checkpoint.Session) {
			checkpointtest.Mark(t, x, state.TriggerConflictStart)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newScene(t, store.NewMemory())
			c.Options.Policy.OnComplete = checkpoint.DeleteOnComplete
			x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
			keep(t, x)
			checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			var seqs []uint64
			for range 3 {
				seqs = append(seqs, x.State().Seq)
				_, err := prune.Tidy(t.Context(), x, nil)
				checkpointtest.Must(t, err)
			}
			if seqs[1] != seqs[0]+1 || seqs[2] != seqs[1] || len(x.State().Checkpoints) > 1 {
				t.Errorf("commits %d, %d checkpoints", seqs, len(x.State().Checkpoints))
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestEmptiesWhatASessionHolds completes sessions that hold nothing but a checkpoint, or
// nothing but a capture. Tidy with on_complete "delete" must remove either, once.
func TestEmptiesWhatASessionHolds(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(x *checkpoint.Session){
		"a checkpoint": func(x *checkpoint.Session) { checkpointtest.Mark(t, x, state.TriggerManual) },
		"a capture":    func(x *checkpoint.Session) { capture(t, x, "a file") },
	} {
		f := checkpointtest.InMemory(t)
		f.Options.Policy = checkpoint.DefaultPolicy()
		f.Options.Policy.OnComplete = checkpoint.DeleteOnComplete
		x := f.Lock()
		checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(1))))
		checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
		add(x)
		checkpointtest.Commit(t, x, state.WorkstreamStarted{Workstream: "w0", Attempt: 1},
			state.WorkstreamCompleted{Workstream: "w0", Work: &state.Work{Attempt: 1}},
			state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
		var seqs []uint64
		for range 3 {
			seqs = append(seqs, x.State().Seq)
			_, err := prune.Tidy(t.Context(), x, nil)
			checkpointtest.Must(t, err)
		}
		if len(x.State().Checkpoints) > 0 || x.State().Capture != nil || seqs[1] != seqs[0]+1 || seqs[2] != seqs[1] {
			t.Errorf("%s: %d checkpoints and the capture %+v are left after the commits %d", name, len(x.State().Checkpoints), x.State().Capture, seqs)
		}
		checkpointtest.Must(t, x.Close())
	}
}

// capture captures a workspace with one file.
func capture(t testing.TB, x *checkpoint.Session, content string) {
	t.Helper()
	dir := t.TempDir()
	checkpointtest.Must(t, os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600))
	w, err := x.Store().OpenWorkspace(dir, nil, workspace.GitOff)
	checkpointtest.Must(t, err)
	_, err = x.Capture(context.Background(), w, []string{"**"})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, w.Close())
	checkpointtest.Commit(t, x)
}

// TestTidy: Tidy must collect the objects of checkpoints that were removed at a boundary.
// If none was removed, Tidy must not search for unneeded objects.
func TestTidy(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, c.Open(), "out", "version 3"))
	checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete) // removes the three checkpoints before it
	done, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	if done.Collected.Objects != 3 || checkpointtest.Has(t, c.Open(), c.artifacts...) != "000" {
		t.Errorf("%+v", done)
	}
	c.Write("objects/ab/"+strings.Repeat("cd", 31), nil) // an object that nothing needs
	done, err = prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if done.Collected.Objects != 0 {
		t.Errorf("collected although no object was dropped: %+v", done)
	}
}

// TestTidyGivesUp cancels the context. Tidy must return that error and change nothing,
// and the next Tidy must do the work.
func TestTidyGivesUp(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, c.Open(), "out", "version 3"))
	checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete)
	checkpointtest.Commit(t, x)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := prune.Tidy(ctx, x, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	nothing := checkpointtest.InMemory(t) // a store without objects
	y := nothing.Lock()
	checkpointtest.Must(t, y.Start(checkpointtest.Started("S1", checkpointtest.Wide(1))))
	if _, err := prune.Tidy(ctx, y, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	checkpointtest.Must(t, y.Close())
	done, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if done.Collected.Objects != 3 {
		t.Errorf("the next Tidy removed %+v", done)
	}
}

// TestTidyLeavesWhatOthersMayNeed tidies while another session is locked. Tidy must
// collect nothing, because the other session may be about to record an object that exists
// already. A later Collect must remove what neither needs.
func TestTidyLeavesWhatOthersMayNeed(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	s := c.Open()
	other := checkpointtest.LockPRD(t, s, "PRD-010")
	checkpointtest.Must(t, other.Start(checkpointtest.StartedOf("PRD-010", "T1", 1)))
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, s, "out", "version 3"))
	checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete) // removes the three checkpoints before it
	again := checkpointtest.Put(t, s, "out", "version 0")
	done, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	if done.Collected.Objects != 0 || checkpointtest.Has(t, s, c.artifacts...) != "111" {
		t.Errorf("collected while another session was locked: %+v", done.Collected)
	}
	checkpointtest.Commit(t, other, state.PhaseStarted{Phase: "all"})
	checkpointtest.Produce(t, other, "w0", again)
	checkpointtest.Must(t, other.Close())
	checkpointtest.Must(t, x.Close())
	_, err = prune.Collect(context.Background(), s, nil)
	checkpointtest.Must(t, err)
	if got := checkpointtest.Has(t, s, c.artifacts...); got != "100" {
		t.Errorf("left %s", got)
	}
	checkpointtest.NeedsWhole(t, s, "PRD-010")
}
