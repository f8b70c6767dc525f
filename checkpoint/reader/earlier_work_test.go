package reader_test

import (
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestEarlierWork: the earlier work of an uncertain workstream is that of the workstream
// that it may be under another name, or that of its last attempt before a rollback. It is
// nothing if the workstream was started again since, or no readable checkpoint has it.
func TestEarlierWork(t *testing.T) {
	t.Parallel()
	rollback := func(safety string) func(st *state.State) {
		return func(st *state.State) {
			st.Workstream("w0").Status = state.Uncertain
			st.Rollbacks = append(st.Rollbacks, state.RollbackRecord{Safety: safety})
		}
	}
	both := func(changes ...func(st *state.State)) func(st *state.State) {
		return func(st *state.State) {
			for _, change := range changes {
				change(st)
			}
		}
	}
	sameAs := func(st *state.State) {
		w := st.Workstream("w1")
		w.Status, w.SameAs = state.Uncertain, "w0"
	}
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(2))))
	first := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Produce(t, x, "w0", state.Artifact{Path: "made", Digest: "sha256:made", Size: 1})
	made := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Commit(t, x, state.SessionResumed{})
	damaged := checkpointtest.Mark(t, x, state.TriggerManual)
	current := x.State().Clone()
	checkpointtest.Must(t, x.Close())
	checkpointtest.FlipByte(f, f.CheckpointFile(damaged), 100)
	for name, tt := range map[string]struct {
		of     string
		change func(st *state.State)
		want   bool
	}{
		"of none":                       {"w9", func(*state.State) {}, false},
		"of a completed one":            {"w0", func(*state.State) {}, false},
		"taken back":                    {"w0", rollback(made), true},
		"without a rollback":            {"w0", func(st *state.State) { st.Workstream("w0").Status = state.Uncertain }, false},
		"by a rollback that failed":     {"w0", both(rollback(made), func(st *state.State) { st.Rollbacks[0].Error = "failed" }), false},
		"before the work":               {"w0", rollback(first), false},
		"started again since":           {"w0", both(rollback(made), func(st *state.State) { st.Workstream("w0").Attempts++ }), false},
		"in a checkpoint that is gone":  {"w0", rollback("CP-gone"), false},
		"in a damaged checkpoint":       {"w0", rollback(damaged), false},
		"an earlier checkpoint has it":  {"w0", both(rollback(made), rollback(damaged), rollback("CP-gone")), true},
		"under another name":            {"w1", sameAs, true},
		"under another name, not begun": {"w1", both(sameAs, func(st *state.State) { st.Workstream("w0").Status = state.Pending }), false},
		"under another name, but begun": {"w1", both(sameAs, func(st *state.State) { st.Workstream("w1").Attempts = 1 }), false},
	} {
		st := current.Clone()
		tt.change(st)
		work, err := f.Open().Reader().EarlierWork(st, tt.of)
		checkpointtest.Must(t, err)
		if (work != nil) != tt.want || work != nil && (len(work.Artifacts) != 1 || work.Artifacts[0].Path != "made") {
			t.Errorf("%s: the earlier work is %+v, want some: %t", name, work, tt.want)
		}
	}
}
