package runner_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestAllowedFailureOfAGateIsKept: a workstream that may fail, and has failed because of its
// gate, is kept by the next build like one that has completed. The files that the gate judged
// are no edit then.
func TestAllowedFailureOfAGateIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "lint" {
    script        = "echo lint >> ran"
    allow_failure = true
    gate "clean" {
      inputs  = ["src"]
      command = ["false"]
    }
  }
}
`)
	b.write("src", "1")
	b.must(state.StatusComplete)
	b.wantRan("lint")
	b.must(state.StatusComplete)
	b.wantRan()
}
