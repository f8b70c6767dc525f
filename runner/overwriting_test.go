package runner_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestOverwritingIsOnRecord: a workstream that overwrites artifacts of another workstream
// starts only when its start is durable, even if the artifacts were made just before.
// Otherwise the partial work of a killed run would count as an edit.
func TestOverwritingIsOnRecord(t *testing.T) {
	t.Parallel()
	for name, artifacts := range map[string]string{"by name": `["f"]`, "by pattern": `["?"]`, "of any directory": `["**/f"]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `
phase "one" {
  workstream "A" {
    script    = "echo whole > f"
    artifacts = ["f"]
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "grep -q '\"workstream.started\",\"workstream\":\"B\"' .runner/PRD-001/journal.jsonl && echo recorded >> ran; echo again > f"
    artifacts  = `+artifacts+`
  }
}
`)
			b.must(state.StatusComplete)
			b.wantRan("recorded")
		})
	}
}
