package checkpoint_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestSessionGoesOn closes a session with a checkpoint. A reader must find the state, the
// document and the checkpoint, and the next owner must continue from the same state.
func TestSessionGoesOn(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*checkpointtest.Fixture{"memory": checkpointtest.InMemory(t), "disk": checkpointtest.OnDisk(t)} {
		t.Run(name, func(t *testing.T) {
			x := f.Run()
			if id, made := x.Checkpoint(state.TriggerPhaseTransition, "", nil); !made || !strings.HasPrefix(id, "CP-phase-2-20251211T1000") {
				t.Errorf("checkpoint %q, made %t", id, made)
			}
			_, err := x.Drain(context.Background())
			checkpointtest.Must(t, err)
			want := x.State().Clone()
			checkpointtest.Must(t, x.Close())

			snap, err := f.Open().Load("PRD-009")
			checkpointtest.Must(t, err)
			checkpointtest.Same(t, "loaded state", snap.State, want)
			if snap.Owner != nil || snap.TornBytes != 0 || snap.RescuePath != "" {
				t.Errorf("snapshot %+v", snap)
			}
			checkpointtest.Must(t, snap.Document.Validate(nil))
			if !snap.Document.Intact() || snap.Document.Runner.Seq != want.Seq {
				t.Errorf("document %+v", snap.Document.Runner)
			}
			cp, err := f.Open().ReadCheckpoint("PRD-009", "latest")
			checkpointtest.Must(t, err)
			checkpointtest.Same(t, "state of the checkpoint", cp.State, want)
			checkpointtest.Same(t, "files of the checkpoint", cp.Files, state.Files{Created: []state.Text{"a.sql", "b.ts"}, Modified: []state.Text{}})

			x = f.Lock()
			if x.Unclean() {
				t.Error("unclean after Close")
			}
			checkpointtest.Same(t, "state of the next session", x.State(), want)
			checkpointtest.Commit(t, x, checkpointtest.Work("WS2", "type-check")...)
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestGroupCommit flushes two events while the writer is busy with the first. Each must
// be a commit, and become durable in order.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Cashier())))
	first := x.Add(state.PhaseStarted{Phase: "phase-1"})
	x.Flush()
	second := x.Add(state.WorkstreamStarted{Workstream: "WS1", Attempt: 1})
	x.Flush() // the writer is busy: the second commit is postponed
	if first != 2 || second != 3 {
		t.Errorf("commits %d and %d", first, second)
	}
	if x.State().Seq != 3 || x.Durable() != 1 {
		t.Errorf("live at %d, durable at %d", x.State().Seq, x.Durable())
	}
	for want := first; want <= second; want++ {
		c, err := x.Acknowledge(<-x.Acks())
		checkpointtest.Must(t, err)
		if c.Seq != want || len(c.Events) != 1 || x.Durable() != want {
			t.Errorf("commit %d with %d events, durable %d; want %d", c.Seq, len(c.Events), x.Durable(), want)
		}
	}
	if x.Unacknowledged() || x.Pending() {
		t.Error("not everything is acknowledged")
	}
	checkpointtest.Must(t, x.Close())
}

// TestFoldErrorPoisons adds a valid event and an event of an unknown workstream. The
// session must be poisoned, and the next owner must adopt the valid event from the rescue
// copy.
func TestFoldErrorPoisons(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	x.Add(state.WorkstreamStarted{Workstream: "WS2", Attempt: 1}, state.WorkstreamStarted{Workstream: "nobody", Attempt: 1})
	_, err := x.Drain(context.Background())
	var poisoned *checkpoint.PoisonedError
	if !errors.As(err, &poisoned) || !errors.Is(err, state.ErrFold) || poisoned.Rescue == "" {
		t.Fatalf("drain: %v", err)
	}
	if err := x.Close(); !errors.As(err, &poisoned) {
		t.Errorf("close: %v", err)
	}
	x = f.Lock()
	if !x.Unclean() || x.State().Workstream("WS2").Status != state.Running {
		t.Error("the valid event was not rescued")
	}
	checkpointtest.Must(t, x.Close())
}
