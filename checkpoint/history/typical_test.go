package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
)

// TestTypical: the median of the sessions that ran a workstream counts, with its gates. Failures, and results
// that were taken over, do not.
func TestTypical(t *testing.T) {
	t.Parallel()
	session := func(all ...*state.Workstream) *state.State {
		return &state.State{Session: "s-1", Phases: []*state.Phase{{Name: "one", Workstreams: all}}}
	}
	ran := func(name string, seconds int64, gates ...*state.Gate) *state.Workstream {
		return &state.Workstream{Name: name, Status: state.Completed, WorkSeq: 1, Attempts: 1, DurationMS: seconds * 1000, Gates: gates}
	}
	reused := ran("reused", 7)
	reused.Session = "s-0"
	failed := ran("failed", 7)
	failed.Status = state.Failed
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	end := begin.Add(6 * time.Second)
	allowed := &state.Workstream{Name: "allowed", Status: state.Failed, Allowed: true, Attempts: 1, StartedAt: &begin, EndedAt: &end}
	notBegun := &state.Workstream{Name: "not begun", Status: state.Failed, Allowed: true, EndedAt: &end}
	var many []*state.State
	for i := range history.MaxEarlier + 5 {
		many = append(many, session(ran("many", int64(i))))
	}
	running := session(ran("a", 9), ran("b", 1))
	running.Session = "s-2"
	for name, test := range map[string]struct {
		sessions []*state.State
		want     map[string]time.Duration
	}{
		"none":            {nil, map[string]time.Duration{}},
		"one":             {[]*state.State{session(ran("a", 3), reused, failed)}, map[string]time.Duration{"a": 3 * time.Second}},
		"several":         {[]*state.State{session(ran("a", 3)), session(ran("a", 30)), session(ran("a", 4), ran("b", 1))}, map[string]time.Duration{"a": 4 * time.Second, "b": time.Second}},
		"one that runs":   {[]*state.State{running, session(ran("a", 3))}, map[string]time.Duration{"a": 3 * time.Second}},
		"with gates":      {[]*state.State{session(ran("a", 3, &state.Gate{DurationMS: 2500}, &state.Gate{}))}, map[string]time.Duration{"a": 5500 * time.Millisecond}},
		"skipped":         {[]*state.State{session(&state.Workstream{Name: "a", Status: state.Skipped})}, map[string]time.Duration{}},
		"skipped once":    {[]*state.State{session(&state.Workstream{Name: "a", Status: state.Skipped}), session(ran("a", 2))}, map[string]time.Duration{"a": 2 * time.Second}},
		"allowed to fail": {[]*state.State{session(allowed, notBegun)}, map[string]time.Duration{"allowed": 6 * time.Second}},
		"the newest ten":  {many, map[string]time.Duration{"many": 4500 * time.Millisecond}},
	} {
		if diff := cmp.Diff(test.want, history.Typical(test.sessions, "s-2")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
