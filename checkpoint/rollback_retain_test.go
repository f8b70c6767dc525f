package checkpoint

import "testing"

// TestRollbackKeepsItsTarget undoes rollbacks where only one safety checkpoint
// is kept: the one that is gone back to must not go because of the next.
func TestRollbackKeepsItsTarget(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.o.Policy = DefaultPolicy()
	f.o.Policy.Retention[TriggerPreRollback] = 1
	x := f.run()
	defer func() { must(t, x.Close()) }()
	a := manual(t, x)
	manual(t, x)
	undo := back(t, x, a)
	for range 3 {
		undo = back(t, x, undo)
	}
	if x.State().indexed().checkpoints[undo] == nil {
		t.Error("the last safety checkpoint is not kept")
	}
}
