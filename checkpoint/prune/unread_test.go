package prune_test

import (
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestPruneRemembersUnreadSessions removes two archived sessions, of which one can't be
// read. The PRD must remember that one alone, because it may have done something that
// must happen only once.
func TestPruneRemembersUnreadSessions(t *testing.T) {
	t.Parallel()
	c := newScene(t, store.NewMemory())
	x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	_, err := x.Abandon(state.SessionAbandoned{By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S2", 1)))
	checkpointtest.Must(t, x.Close())
	const unread = "failed/PRD-009-20240101T100000Z"
	c.Write(unread+"/journal.jsonl", []byte("no\nno\n"))
	c.clock.Move(40 * 24 * time.Hour)
	x = checkpointtest.LockPRD(t, c.Open(), "PRD-009")
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	checkpointtest.Must(t, x.Close())
	c.clock.Move(time.Hour)
	done := c.prune(t, prune.Options{OlderThan: 24 * time.Hour})
	if len(done.Sessions) != 2 || !slices.ContainsFunc(done.Sessions, func(s prune.RemovedSession) bool { return s.ID == unread }) {
		t.Fatalf("removed %+v, want two sessions, one of them %s", done.Sessions, unread)
	}
	acts, err := c.Open().Layout().ReadActs("PRD-009")
	checkpointtest.Must(t, err)
	if !slices.Equal(acts.Unread, []state.Text{unread}) {
		t.Errorf("the PRD remembers that %q could not be read, want %s", acts.Unread, unread)
	}
}
