package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
)

// TestExecutionGraph: the graph has the nodes of the phase entered last.
func TestExecutionGraph(t *testing.T) {
	t.Parallel()
	began, ended := time.Unix(100, 0), time.Unix(200, 0)
	s := state.State{
		CreatedAt: time.Unix(0, 0), Session: "abcdef", CurrentPhase: 2,
		Phases: []*state.Phase{
			{Name: "one", Workstreams: []*state.Workstream{{Name: "before", Status: state.Completed}}},
			{Name: "two", Workstreams: []*state.Workstream{
				{Name: "done", Batch: 1, Status: state.Completed, StartedAt: &began, EndedAt: &ended, Summary: "all well"},
				{Name: "worked", Batch: 2, Status: state.Succeeded, StartedAt: &began, EndedAt: &ended, Summary: "well\xff"},
				{Name: "failed", Batch: 2, Status: state.Failed, StartedAt: &began, EndedAt: &ended, Summary: "earlier", Error: &state.Failure{Message: "\nno luck \r\nat all\n"}},
				{Name: "retries", Batch: 2, Status: state.Running, StartedAt: &began, RetryAt: &ended, Error: &state.Failure{Message: "not yet"}},
				{Name: "again", Batch: 2, Status: state.Pending, StartedAt: &began, EndedAt: &ended, Summary: "earlier", Error: &state.Failure{Message: "earlier"}},
				{Name: "new", Batch: 3, Status: state.Pending},
			}},
			{Name: "three", Workstreams: []*state.Workstream{{Name: "after"}}},
		},
	}
	want := state.ExecutionGraph{
		ID: "GRAPH-19700101-abcd", CompletedBatches: []int{1}, CurrentBatch: 2,
		NodeStates: map[string]state.NodeState{
			"done":    {Status: state.Completed, Result: "all well", StartedAt: &began, CompletedAt: &ended},
			"worked":  {Status: state.Succeeded, Result: "well\xff", StartedAt: &began},
			"failed":  {Status: state.Failed, Result: "no luck", StartedAt: &began},
			"retries": {Status: state.Running, Result: "not yet", StartedAt: &began},
			"again":   {Status: state.Pending, StartedAt: &began},
			"new":     {Status: state.Pending},
		},
	}
	if diff := cmp.Diff(want, state.NewExecutionGraph(&s)); diff != "" {
		t.Error(diff)
	}
	s.CurrentPhase = 0
	if g := state.NewExecutionGraph(&s); g.NodeStates != nil {
		t.Errorf("before the first phase: %v", g.NodeStates)
	}
}
