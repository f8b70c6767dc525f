package runner_test

import (
	"context"
	"slices"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// TestEditsBetweenRunsAreInACheckpoint edits a file between two runs, and the second run
// overwrites the edit. However the first run ended, a rollback to the start of the second
// run restores the edit.
func TestEditsBetweenRunsAreInACheckpoint(t *testing.T) {
	t.Parallel()
	for ended, events := range map[string][]state.Event{
		"failed":      nil,
		"paused":      {state.SessionResumed{}, state.SessionPaused{Reason: state.PauseRequested}},
		"interrupted": {state.SessionResumed{}, state.SessionInterrupted{Signal: "SIGINT"}},
		"killed":      {state.SessionResumed{}, state.WorkstreamStarted{Workstream: "A", Attempt: 2}},
	} {
		t.Run(ended, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `
phase "one" {
  workstream "A" { script = "test -e mended" }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["b.txt"]
    script     = "echo made > b.txt"
  }
}
`)
			b.must(state.StatusFailed)
			if len(events) > 0 {
				b.locked(func(x *checkpoint.Session) { x.Add(events...) })
			}
			b.write("b.txt", "by hand")
			b.write("mended", "")
			b.must(state.StatusComplete)
			b.goBack(b.checkpointOf(state.TriggerStart, 2))
			b.wantFile("b.txt", "by hand")
		})
	}
}

// TestWhatIsFoundUnchangedIsNotCaptured: a run that finds all files unchanged makes no
// capture and no checkpoint.
func TestWhatIsFoundUnchangedIsNotCaptured(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    inputs = ["in"]
    script = "false"
  }
}
`)
	b.write("in", "")
	b.must(state.StatusFailed)
	b.must(state.StatusFailed)
	for _, c := range b.commits {
		if slices.ContainsFunc(c.Events, func(e state.Event) bool { return e.Kind() == state.KindWorkspaceCaptured }) {
			t.Errorf("commit %d has a capture of unchanged files: %+v", c.Seq, c.Events)
		}
	}
	starts := slices.DeleteFunc(b.state().Checkpoints, func(ref *state.CheckpointRef) bool { return ref.Trigger != state.TriggerStart })
	if len(starts) != 1 {
		t.Errorf("there are %d checkpoints of the start, want 1", len(starts))
	}
}

// checkpointOf returns the id of the n-th checkpoint with a trigger, counted from 1.
func (b *bench) checkpointOf(trigger state.Trigger, n int) string {
	b.t.Helper()
	for _, ref := range b.state().Checkpoints {
		if ref.Trigger == trigger {
			if n--; n == 0 {
				return ref.ID
			}
		}
	}
	b.t.Fatalf("there are too few checkpoints with the trigger %s", trigger)
	return ""
}

// goBack rolls state and files back to a checkpoint.
func (b *bench) goBack(id string) {
	b.t.Helper()
	w, err := b.store.OpenWorkspace(b.dir, nil, workspace.GitOff)
	if err != nil {
		b.t.Fatal(err)
	}
	b.locked(func(x *checkpoint.Session) {
		if _, err := rollback.Run(context.Background(), x, w, rollback.Options{To: id}); err != nil {
			b.t.Error(err)
		}
	})
	if err := w.Close(); err != nil {
		b.t.Error(err)
	}
}
