package state_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
)

// TestImportedKeepsCaptures: knowledge that an earlier session captured stays captured.
func TestImportedKeepsCaptures(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := state.Document{
		PRD: "PRD-001", Status: state.StatusInitialized, Pending: []string{"a"}, Timestamp: "2026-01-02",
		Imported: &state.Imported{Format: "crunch", IterationCount: 9, Knowledge: state.ImportedKnowledge{Pending: []string{"K-1", "K-2"}}},
	}
	started := state.SessionStarted{
		FormatVersion: state.FormatVersion, PRD: "PRD-001", Imported: &d,
		Shape:    state.Shape{Phases: []state.PhaseShape{{Name: "one", MaxIterations: 3, Workstreams: []state.WorkstreamShape{{Name: "a"}}}}},
		Captured: map[string]ledger.Knowledge{"K-1": {From: "b", CapturedAt: &at}},
	}
	st := &state.State{}
	if err := st.Apply(state.Commit{Time: at, Events: []state.Event{started}}); err != nil {
		t.Fatal(err)
	}
	if k := st.Ledgers.Knowledge["K-1"]; k.CapturedAt == nil || k.Pending || !st.Ledgers.Knowledge["K-2"].Pending {
		t.Errorf("%+v", st.Ledgers.Knowledge)
	}
	if st.Phases[0].Iteration.Index != 1 {
		t.Errorf("a phase that was not entered is in iteration %d", st.Phases[0].Iteration.Index)
	}
}
