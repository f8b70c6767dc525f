package checkpoint_test

import (
	"fmt"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestDocumentRate: after a large document was written, the next one must be due only
// once its size divided by DocumentRate has passed as seconds, and only if an event
// happened since.
func TestDocumentRate(t *testing.T) {
	t.Parallel()
	const steps = 5_000
	fsys, now := store.NewMemory(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := checkpoint.OpenStore("/ws/.runner", checkpoint.Options{FS: fsys, Now: func() time.Time { return now }})
	checkpointtest.Must(t, err)
	x := checkpointtest.LockPRD(t, s, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", steps)))
	for _, w := range x.State().Phases[0].Workstreams {
		x.Add(state.WorkstreamStarted{Workstream: w.Name, Attempt: 1}, state.WorkstreamCompleted{Workstream: w.Name, Work: &state.Work{Attempt: 1}})
	}
	_, err = x.Drain(t.Context())
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.WriteDerived(t.Context()))
	info, err := fsys.Lstat(s.Layout().DocumentPath("PRD-009"))
	checkpointtest.Must(t, err)
	rest := time.Duration(info.Size()) * time.Second / checkpoint.DocumentRate
	if rest <= 2*checkpoint.DocumentInterval {
		t.Fatalf("a document of %d bytes is too small for this test", info.Size())
	}
	if now = x.DocumentWrittenAt().Add(rest); x.DocumentDue() {
		t.Error("a document is due without a new event")
	}
	checkpointtest.Commit(t, x, state.PauseAsked{By: checkpointtest.By})
	for after, want := range map[time.Duration]bool{checkpoint.DocumentInterval: false, rest - time.Millisecond: false, rest: true} {
		t.Run(fmt.Sprint(want, after), func(t *testing.T) {
			if now = x.DocumentWrittenAt().Add(after); x.DocumentDue() != want {
				t.Errorf("%v after a document of %d bytes: the next one is due: %t", after, info.Size(), !want)
			}
		})
	}
	checkpointtest.Must(t, x.Close())
}
