package compare_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	session := func(status state.Status, workstreams ...*state.Workstream) *state.State {
		return &state.State{Session: "s", PRD: "PRD-001", Status: status, Phases: []*state.Phase{{Name: "one", Status: state.Completed, Workstreams: workstreams}}}
	}
	from := session(state.StatusFailed,
		&state.Workstream{Name: "a", Status: state.Completed, Attempts: 1, Outputs: map[string]state.Text{"v": "1"}},
		&state.Workstream{Name: "b", Status: state.Failed, Attempts: 1},
		&state.Workstream{Name: "c", Status: state.Pending},
		&state.Workstream{Name: "d", Status: state.Completed, Attempts: 1},
	)
	to := session(state.StatusComplete,
		&state.Workstream{Name: "a", Status: state.Completed, Attempts: 1, Session: "earlier", Outputs: map[string]state.Text{"v": "2"}},
		&state.Workstream{Name: "b", Status: state.Completed, Attempts: 2},
		&state.Workstream{Name: "c", Status: state.Skipped},
		&state.Workstream{Name: "d", Status: state.Completed, Attempts: 1, Cached: &state.Cached{Session: "earlier"}},
	)
	got := compare.Sessions(from, to)
	want := []compare.ValueChange{{Name: "a", From: "run", To: "reuse"}, {Name: "c", To: "skipped"}, {Name: "d", From: "run", To: "cached"}}
	if diff := cmp.Diff(want, got.Decisions); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if want := []compare.ValueChange{{Name: "a.v", From: state.Text("1"), To: state.Text("2")}}; !cmp.Equal(want, got.Outputs) {
		t.Errorf("outputs: %s", cmp.Diff(want, got.Outputs))
	}
	if len(got.Workstreams) != 2 || got.Workstreams[0].Name != "b" || got.Workstreams[1].Name != "c" {
		t.Errorf("workstreams: %+v", got.Workstreams)
	}
	if got.Same() || !compare.Sessions(from, from).Same() {
		t.Error("Same is wrong")
	}
}
