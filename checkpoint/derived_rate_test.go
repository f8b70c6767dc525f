package checkpoint

import (
	"fmt"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestDocumentRate: between boundaries that nobody waits for, a large document is
// written as seldom as its bytes ask for, however fast that goes.
func TestDocumentRate(t *testing.T) {
	t.Parallel()
	const steps = 5_000
	fsys, now := store.NewMemory(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := OpenStore("/ws/.runner", Options{FS: fsys, Now: func() time.Time { return now }})
	must(t, err)
	x := lockPRD(t, s, "PRD-009")
	must(t, x.Start(startedOf("PRD-009", "S1", steps)))
	for _, w := range x.State().Phases[0].Workstreams {
		x.Add(state.WorkstreamStarted{Workstream: w.Name, Attempt: 1}, state.WorkstreamCompleted{Workstream: w.Name, Work: &state.Work{Attempt: 1}})
	}
	_, err = x.Drain(t.Context())
	must(t, err)
	must(t, x.WriteDerived(t.Context(), true))
	info, err := fsys.Lstat(s.layout.DocumentPath("PRD-009"))
	must(t, err)
	rest := time.Duration(info.Size()) * time.Second / DocumentRate
	if rest <= 2*DocumentInterval {
		t.Fatalf("a document of %d bytes is none that is large", info.Size())
	}
	if now = x.DocumentWrittenAt().Add(rest); x.DocumentDue() {
		t.Error("one is due although nothing has happened since")
	}
	commit(t, x, state.PauseAsked{By: by})
	for after, want := range map[time.Duration]bool{DocumentInterval: false, rest - time.Millisecond: false, rest: true} {
		t.Run(fmt.Sprint(want, after), func(t *testing.T) {
			if now = x.DocumentWrittenAt().Add(after); x.DocumentDue() != want {
				t.Errorf("%v after a document of %d bytes another one is due: %t", after, info.Size(), !want)
			}
		})
	}
	must(t, x.Close())
}
