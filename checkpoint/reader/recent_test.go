package reader_test

import (
	"context"
	"slices"
	"testing"

	"prdrunner/checkpoint/state"
)

// TestRecent: current and archived sessions that can be read are there, as many as are asked for, none after
// the end of the context.
func TestRecent(t *testing.T) {
	t.Parallel()
	r := severalSessions(t).Open().Reader()
	ids := func(all []*state.State) []string {
		var ids []string
		for _, st := range all {
			ids = append(ids, st.Session)
		}
		slices.Sort(ids)
		return ids
	}
	if got := ids(r.Recent(t.Context(), "PRD-009", 10)); !slices.Equal(got, []string{"A", "B", "C", "D"}) {
		t.Errorf("all sessions: %v", got)
	}
	if got := r.Recent(t.Context(), "PRD-009", 2); len(got) != 2 {
		t.Errorf("%d sessions, want 2", len(got))
	}
	if got := r.Recent(t.Context(), "PRD-011", 10); len(got) != 0 {
		t.Errorf("of a session that can't be read: %v", ids(got))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.Recent(ended, "PRD-009", 10); len(got) != 0 {
		t.Errorf("after the end: %v", ids(got))
	}
}
