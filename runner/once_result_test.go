package runner_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestOnceWithoutItsArtifactStaysUncertain: the user calls a once step done, but its
// artifact is missing. The step must not be recorded as failed, because Runner would run
// a failed step again. The step stays uncertain until the user resolves it.
func TestOnceWithoutItsArtifactStaysUncertain(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; exit 1"
    artifacts = ["out/*.txt"]
    effect    = "once"
  }
}
`)
	b.must(state.StatusPaused)
	b.wantRan("A")
	session, err := b.store.Lock(t.Context(), "PRD-001", state.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	session.Add(state.WorkstreamResolved{Workstream: "A", Resolution: state.ResolvedDone})
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	e := b.must(state.StatusPaused)
	if e.Pause == nil || e.Pause.Reason != state.PauseUncertain {
		t.Errorf("paused: %+v", e.Pause)
	}
	w := b.state().Workstream("A")
	if want := `the declared artifact "out/*.txt" does not exist`; w.Status != state.Uncertain || w.Error == nil || string(w.Error.Message) != want {
		t.Errorf("A is %s: %+v, want %q", w.Status, w.Error, want)
	}
	b.must(state.StatusPaused)
	b.wantRan()
}
