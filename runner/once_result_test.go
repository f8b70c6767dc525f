package runner_test

import (
	"testing"

	"prdrunner/checkpoint"
)

// A once step that a person called done, and whose artifact is not there, must
// not be taken for one that failed: that would be tried again.
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
	b.must(checkpoint.StatusPaused)
	b.wantRan("A")
	session, err := b.store.Lock(t.Context(), "PRD-001", checkpoint.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	session.Add(checkpoint.WorkstreamResolved{Workstream: "A", Resolution: checkpoint.ResolvedDone})
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	e := b.must(checkpoint.StatusFailed)
	if want := `the declared artifact "out/*.txt" does not exist`; e.Error == nil || string(e.Error.Message) != want {
		t.Errorf("error %+v, want %q", e.Error, want)
	}
	if got := b.state().Workstream("A").Status; got != checkpoint.Uncertain {
		t.Errorf("A is %s", got)
	}
	b.must(checkpoint.StatusPaused)
	b.wantRan()
}
