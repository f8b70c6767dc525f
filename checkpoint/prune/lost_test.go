package prune_test

import (
	"fmt"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
)

// TestLostSteps: a removal must report each step to which no rollback can go any more,
// with the nearest earlier step. A checkpoint that is damaged, or that a rollback made,
// must not count for a step.
func TestLostSteps(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 5)))
	start := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	var ids []string // of steps 1 to 5
	for i := range 5 {
		checkpointtest.Produce(t, x, fmt.Sprintf("w%d", i))
		ids = append(ids, checkpointtest.Mark(t, x, state.TriggerManual))
		switch i {
		case 1: // step 2 also has a checkpoint that a rollback made
			checkpointtest.Mark(t, x, state.TriggerPreRollback)
		case 2: // step 3 also has a damaged checkpoint
			damaged := checkpointtest.Mark(t, x, state.TriggerManual)
			checkpointtest.Commit(t, x, state.CheckpointDamaged{ID: damaged, Reason: "its file is lost"})
		case 3: // step 4 also has another valid checkpoint
			checkpointtest.Mark(t, x, state.TriggerManual)
		}
	}
	checkpointtest.Must(t, x.Close())
	s := f.Open()
	step := func(n int) string { return fmt.Sprintf("step %d (w%d) can no longer be gone back to", n, n-1) }
	for name, test := range map[string]struct{ remove, lost []string }{
		"the start":                {[]string{start}, []string{"step 0 can no longer be gone back to, nor anything before it"}},
		"the first step":           {ids[:1], []string{step(1) + "; the nearest before it is step 0, " + start}},
		"the start and the first":  {[]string{start, ids[0]}, []string{"step 0 can no longer be gone back to, nor anything before it", step(1) + ", nor anything before it"}},
		"a step in between":        {ids[1:2], []string{step(2) + "; the nearest before it is step 1, " + ids[0]}},
		"two steps in between":     {ids[1:3], []string{step(2) + "; the nearest before it is step 1, " + ids[0], step(3) + "; the nearest before it is step 1, " + ids[0]}},
		"one with a damaged one":   {ids[2:3], []string{step(3) + "; the nearest before it is step 2, " + ids[1]}},
		"one of two of a step":     {ids[3:4], nil},
		"the last, where it ended": {ids[4:5], []string{step(5) + "; the nearest before it is step 4, " + ids[3]}},
	} {
		p, err := prune.PlanDelete(t.Context(), s, "PRD-009", prune.DeleteOptions{References: test.remove, Force: true})
		checkpointtest.Must(t, err)
		if !slices.Equal(p.Lost, test.lost) {
			t.Errorf("%s: lost %q, want %q", name, p.Lost, test.lost)
		}
	}
}
