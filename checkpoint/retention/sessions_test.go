package retention

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	ended := func(id, prd string, complete bool, age time.Duration) Session {
		return Session{ID: id, PRD: prd, Complete: complete, EndedAt: noon().Add(-age), Bytes: 10}
	}
	pinned := ended("pinned", "PRD-001", true, 9*day)
	pinned.Pinned = true
	sessions := []Session{
		ended("newest", "PRD-001", true, 8*day), ended("old", "PRD-001", true, 9*day), pinned,
		ended("other", "PRD-002", true, 35*day),
		ended("failed", "PRD-001", false, 9*day), ended("old failed", "PRD-001", false, 31*day), ended("wanted", "PRD-001", false, 32*day),
		ended("never complete", "PRD-003", false, 32*day),
	}
	in := Pass{Clock: steadily(), Needed: map[string]string{"wanted": "a test"}}
	got := map[string]string{}
	r := DecideSessions(sessions, usual(), in)
	for _, d := range r.Decisions {
		got[d.ID] = fmt.Sprint(d.Keep, " ", d.Reason)
	}
	newest := "true the newest complete one, which the next is measured against"
	if diff := cmp.Diff(map[string]string{
		"newest": newest, "other": newest, "old": "false older than 168h (created 9 days ago)", "pinned": "true a checkpoint of it is pinned",
		"failed": "true not old enough", "old failed": "false older than 720h (created 31 days ago)", "wanted": "true needed: a test",
		"never complete": "false older than 720h (created 32 days ago)",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Freed != 30 {
		t.Errorf("freed %d", r.Freed)
	}
	in.Clock = Clock{Now: noon().Add(3650 * day), Seen: in.Clock.Seen}
	for _, d := range DecideSessions(sessions[4:5], usual(), in).Decisions {
		if !d.Keep {
			t.Errorf("the clock jumped: %+v", d)
		}
	}
}
