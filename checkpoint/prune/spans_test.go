package prune_test

import (
	"context"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
)

// TestTidyAfterCompaction compacts the journal, so that the new journal no longer tells
// what an older checkpoint needs. Tidy must read the old journal for that, and keep the
// object until the checkpoint is deleted.
func TestTidyAfterCompaction(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 2)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	first := checkpointtest.Put(t, f.Open(), "out", "first")
	checkpointtest.Produce(t, x, "w0", first)
	old := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	checkpointtest.Compact(t, f.Open())
	x = f.Lock()
	checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, f.Open(), "out", "second"))
	done, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	if done.Collected.Objects != 0 || checkpointtest.Has(t, f.Open(), first) != "1" {
		t.Fatalf("%+v", done)
	}
	_, err = prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{old}, Force: true})
	checkpointtest.Must(t, err)
	done, err = prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if done.Collected.Objects != 1 || checkpointtest.Has(t, f.Open(), first) != "0" {
		t.Errorf("the object that only the deleted checkpoint needed still exists: %+v", done)
	}
}

// TestSpansOfRunCapture makes a checkpoint after a user has captured again since the run.
// The checkpoint needs both captures, because its gates judged the run's capture. Tidy
// must keep that capture until the checkpoint is deleted.
func TestSpansOfRunCapture(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 1)))
	capture(t, x, "as the run left it")
	run := x.State().RunCapture
	checkpointtest.Commit(t, x, state.SessionFailed{Error: state.Failure{Workstream: "w0", Message: "no"}})
	capture(t, x, "as a person mended it")
	old := checkpointtest.Mark(t, x, state.TriggerManual)
	if x.State().RunCapture != run || x.State().Capture == run {
		t.Fatalf("captured %+v, by the run %+v", x.State().Capture, x.State().RunCapture)
	}
	checkpointtest.Commit(t, x, state.SessionResumed{By: checkpointtest.By})
	capture(t, x, "as the next run left it")
	checkpointtest.Mark(t, x, state.TriggerFailure)
	checkpointtest.SameSpans(t, x)
	_, err := prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	if checkpointtest.Has(t, f.Open(), state.Artifact{Digest: run.Listing}) != "1" {
		t.Error("the capture that the checkpoint's gates judged is lost")
	}
	_, err = prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{old}, Force: true})
	checkpointtest.Must(t, err)
	checkpointtest.SameSpans(t, x)
	_, err = prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
	if checkpointtest.Has(t, f.Open(), state.Artifact{Digest: run.Listing}) != "0" {
		t.Error("the capture that nothing needs still exists")
	}
}
