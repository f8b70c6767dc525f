package runner_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestOverwritingIsOnRecord: what writes to artifacts of others starts once that is
// durable, however soon after they were made. Else what a killed run left of it would
// look like somebody's edit.
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
