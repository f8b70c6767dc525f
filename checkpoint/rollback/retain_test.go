package rollback

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// TestRollbackKeepsItsTarget undoes rollbacks repeatedly with a policy that keeps one
// pre_rollback checkpoint. The checkpoint of a rollback's target must not be removed for
// the new one.
func TestRollbackKeepsItsTarget(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	f.Options.Policy = checkpoint.DefaultPolicy()
	f.Options.Policy.Retention.Counts[string(state.TriggerPreRollback)] = 1
	x := f.Run()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	a := manual(t, x)
	manual(t, x)
	undo := back(t, x, a)
	for range 3 {
		undo = back(t, x, undo)
	}
	if x.State().Checkpoint(undo) == nil {
		t.Error("the last pre_rollback checkpoint was removed")
	}
}

// TestRollbackCanBeUndoneForAsLongAsItStands: neither another rollback, nor Tidy, nor
// pruning may remove the checkpoint that undoes a rollback, whatever its size and the
// policy, until the rollback was undone.
func TestRollbackCanBeUndoneForAsLongAsItStands(t *testing.T) {
	t.Parallel()
	c := newVersions(t)
	c.Options.Policy.Retention.Counts[string(state.TriggerPreRollback)] = 0
	c.Options.Policy.Retention.MaxSizeMB = 1
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Produce(t, x, "w1", checkpointtest.Put(t, s, "large", strings.Repeat("the only copy", retention.Megabyte)))
	undo := back(t, x, c.ids[0])
	checkpointtest.Produce(t, x, "w1", checkpointtest.Put(t, s, "small", "another"))
	checkpointtest.Mark(t, x, state.TriggerManual)
	there := func() bool { return x.State().Checkpoint(undo) != nil }
	again := back(t, x, c.ids[0]) // the policy keeps no older pre_rollback checkpoint
	if !there() {
		t.Fatal("the next rollback removed the checkpoint that undoes the first one")
	}
	for range 2 {
		tidied, err := prune.Tidy(context.Background(), x, nil)
		checkpointtest.Must(t, err)
		if !there() || len(tidied.Warnings) != 1 {
			t.Fatalf("tidied %+v", tidied)
		}
	}
	const day = 24 * time.Hour
	c.clock.Move(100 * day)
	p, err := prune.Run(context.Background(), x, prune.Options{OlderThan: day})
	checkpointtest.Must(t, err)
	if !there() || slices.ContainsFunc(p.Checkpoints, func(c prune.RemovedCheckpoint) bool { return c.ID == undo }) {
		t.Fatalf("pruned %+v", p)
	}
	redo := back(t, x, undo)
	_, err = prune.Tidy(context.Background(), x, nil)
	checkpointtest.Must(t, err)
	checkpointtest.Mark(t, x, state.TriggerManual)
	_, err = prune.Run(context.Background(), x, prune.Options{})
	checkpointtest.Must(t, err)
	if undoes := x.State().Undoers(); len(undoes) != 2 || undoes[redo] == "" || undoes[again] == "" {
		t.Errorf("after the undo, checkpoints that undo rollbacks: %v", undoes)
	}
	if there() && x.State().Current != undo {
		t.Error("the checkpoint is kept although its rollback was undone")
	}
	checkpointtest.Must(t, x.Close())
	checkpointtest.NeedsWhole(t, s, "PRD-009")
}

// versions is a PRD with three checkpoints and three versions of one artifact.
type versions struct {
	*checkpointtest.Fixture
	clock *checkpointtest.Tick
	ids   []string
}

// newVersions makes the checkpoints with a policy that keeps all workstream_complete
// ones, and then sets a policy that keeps one.
func newVersions(t testing.TB) *versions {
	t.Helper()
	c := &versions{Fixture: checkpointtest.InMemory(t), clock: checkpointtest.NewTick()}
	c.Options.Now = c.clock.Now
	c.Options.Policy = checkpoint.DefaultPolicy()
	delete(c.Options.Policy.Retention.Counts, string(state.TriggerWorkstreamComplete))
	s := c.Open()
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(2))))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	for i := range 3 {
		checkpointtest.Produce(t, x, "w0", checkpointtest.Put(t, s, "out", fmt.Sprintf("version %d", i)))
		c.ids = append(c.ids, checkpointtest.Mark(t, x, state.TriggerWorkstreamComplete))
	}
	checkpointtest.Must(t, x.Close())
	c.Options.Policy.Retention.Counts[string(state.TriggerWorkstreamComplete)] = 1
	return c
}
