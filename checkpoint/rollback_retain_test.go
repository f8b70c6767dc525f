package checkpoint

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestRollbackKeepsItsTarget undoes rollbacks where only one safety checkpoint
// is kept: the one that is gone back to must not go because of the next.
func TestRollbackKeepsItsTarget(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.o.Policy = DefaultPolicy()
	f.o.Policy.Retention.Counts[string(state.TriggerPreRollback)] = 1
	x := f.run()
	defer func() { must(t, x.Close()) }()
	a := manual(t, x)
	manual(t, x)
	undo := back(t, x, a)
	for range 3 {
		undo = back(t, x, undo)
	}
	if x.State().Checkpoint(undo) == nil {
		t.Error("the last safety checkpoint is not kept")
	}
}

// TestRollbackCanBeUndoneForAsLongAsItStands: no pass takes the only copy of
// what a rollback discarded, however large it is and whatever is configured,
// until the rollback was undone.
func TestRollbackCanBeUndoneForAsLongAsItStands(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	c.o.Policy.Retention.Counts[string(state.TriggerPreRollback)] = 0
	c.o.Policy.Retention.MaxSizeMB = 1
	s := c.open()
	x := lockPRD(t, s, "PRD-009")
	produce(t, x, "w1", put(t, s, "large", strings.Repeat("the only copy", retention.Megabyte)))
	undo := back(t, x, c.ids[0])
	produce(t, x, "w1", put(t, s, "small", "another"))
	mark(t, x, state.TriggerManual)
	there := func() bool { return x.State().Checkpoint(undo) != nil }
	again := back(t, x, c.ids[0]) // its boundary would keep none but its own
	if !there() {
		t.Fatal("the next rollback took it")
	}
	for range 2 {
		tidied, err := x.Tidy(context.Background(), nil)
		must(t, err)
		if !there() || len(tidied.Warnings) != 1 {
			t.Fatalf("tidied %+v", tidied)
		}
	}
	const day = 24 * time.Hour
	c.clock.move(100 * day)
	p, err := x.Prune(context.Background(), PruneOptions{OlderThan: day})
	must(t, err)
	if !there() || slices.Contains(p.removed(), undo) {
		t.Fatalf("pruned %+v", p)
	}
	redo := back(t, x, undo)
	_, err = x.Tidy(context.Background(), nil)
	must(t, err)
	mark(t, x, state.TriggerManual)
	_, err = x.Prune(context.Background(), PruneOptions{})
	must(t, err)
	if undoes := x.State().Undoers(); len(undoes) != 2 || undoes[redo] == "" || undoes[again] == "" {
		t.Errorf("undone, and yet %v are needed", undoes)
	}
	if there() && x.State().Current != undo {
		t.Error("it is kept though its rollback was undone")
	}
	must(t, x.Close())
	needsWhole(t, s, "PRD-009")
}
