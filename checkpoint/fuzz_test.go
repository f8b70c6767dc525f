package checkpoint_test

import (
	"errors"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// FuzzJournal reads any bytes as a journal, and as the events of a line with correct
// sums, so that the fuzzer gets past the checksums. The journal must be valid, damaged or
// of a newer version.
func FuzzJournal(f *testing.F) {
	fix := checkpointtest.InMemory(f)
	x := fix.Run()
	x.Checkpoint(state.TriggerManual, "seed", nil)
	checkpointtest.Must(f, x.Close())
	f.Add(fix.Read("PRD-009/journal.jsonl"), []byte(`{"kind":"phase.started","phase":"phase-1"}`))
	f.Add([]byte("{}\n"), []byte(`{"kind":"session.resumed","after_ms":3,"shape":{"phases":[{"name":"x","workstreams":null}]}}`))
	f.Add([]byte{}, []byte(`{"kind":"workstream.completed","workstream":"WS1","work":{"metrics":{"m":1}}},{"kind":"gate.asked","gate":"lint (WS3)"}`))
	f.Fuzz(func(t *testing.T, lines, events []byte) {
		read(t, lines)

		first := state.Commit{Seq: 1, Time: checkpointtest.Clock()(), Events: []state.Event{checkpointtest.Started("S1", checkpointtest.Cashier())}, Prev: journal.Genesis}
		line, err := journal.NewEncoder().Line(&first)
		checkpointtest.Must(t, err)
		head := `{"seq":2,"time":"2025-12-11T10:00:00Z",`
		tail := `,"prev":"` + first.Sum + `"`
		read(t, append([]byte(string(line)), signed([]byte(head+`"events":[`+string(events)+`]`+tail))...))
		read(t, signed([]byte(head+`"state":`+string(events)+tail)))
	})
}

// read replays a journal, and derives the document and the recovery from its state.
func read(t *testing.T, lines []byte) {
	t.Helper()
	fsys := store.NewMemory()
	checkpointtest.Must(t, store.WriteFile(fsys, "/journal", lines))
	fold := journal.NewFold()
	end, err := journal.Replay("PRD-009", "/journal", store.OpenLog(fsys, "/journal"), fold.Apply)
	var damaged *state.DamagedError
	var version *state.VersionError
	if err != nil && !errors.As(err, &damaged) && !errors.As(err, &version) {
		t.Fatalf("neither damaged nor newer: %v", err)
	}
	if err == nil && fold.State != nil {
		document.New(fold.State)
		disk.NewRecovery(fold.State, &state.CheckpointRef{})
		if end.Size+int64(len(end.Torn)) != int64(len(lines)) {
			t.Fatalf("%d bytes valid, %d torn, of %d", end.Size, len(end.Torn), len(lines))
		}
	}
}
