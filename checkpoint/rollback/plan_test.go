package rollback

import (
	"context"
	"errors"
	"slices"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// TestPlanOfAScope: a plan must list changes of the state only if the scope includes the
// state, and changes of files only if the scope includes files and there is a workspace.
func TestPlanOfAScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope        state.RollbackScope
		noWorkspace  bool
		state, files bool
	}{
		"all":                        {state: true, files: true},
		"the state":                  {scope: state.RollbackState, state: true},
		"the files":                  {scope: state.RollbackFiles, files: true},
		"all, without a workspace":   {noWorkspace: true, state: true},
		"state, without a workspace": {scope: state.RollbackState, noWorkspace: true, state: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			p.Continue("more")
			s := p.Open()
			w := p.Workspace(s)
			if c.noWorkspace {
				w = nil
			}
			plan, err := PlanTo(context.Background(), s, w, "PRD-009", Options{To: p.State().Checkpoints[0].ID, Scope: c.scope})
			checkpointtest.Must(t, err)
			if discards := len(plan.Discards) == 1 && plan.Discards[0].Name == "w0"; discards != c.state {
				t.Errorf("discards %v", plan.Discards)
			}
			if invalidates := len(plan.Invalidates) == 2 && plan.Invalidates[1] == p.State().CurrentCheckpoint().ID; invalidates != c.state {
				t.Errorf("invalidates %q", plan.Invalidates)
			}
			if deletes := len(plan.Changes) == 2 && plan.Changes[0].Path == "gen/a.txt"; deletes != c.files {
				t.Errorf("changes %+v", plan.Changes)
			}
		})
	}
}

// TestPlanDiscards: a plan must name the completed workstreams that the rollback
// discards, in the order of their steps. One that the target has, and that ran again
// since, must be among them.
func TestPlanDiscards(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 4)))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	checkpointtest.Produce(t, x, "w0")
	checkpointtest.Produce(t, x, "w1")
	to := manual(t, x)
	for _, name := range []string{"w3", "w2"} {
		checkpointtest.Produce(t, x, name)
	}
	checkpointtest.Commit(t, x, state.WorkstreamInvalidated{Workstream: "w0"})
	checkpointtest.Produce(t, x, "w0")
	plan, err := PlanTo(context.Background(), f.Open(), nil, "PRD-009", Options{To: to})
	checkpointtest.Must(t, err)
	var names []string
	last := 0
	for _, w := range plan.Discards {
		names = append(names, w.Name)
		if w.Step < last {
			t.Errorf("%s of step %d comes after step %d", w.Name, w.Step, last)
		}
		last = w.Step
	}
	slices.Sort(names)
	checkpointtest.Same(t, "discards", names, []string{"w0", "w2", "w3"})
}

// TestPlanToDamaged: only a forced rollback may go to a checkpoint that is marked as
// damaged.
func TestPlanToDamaged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	defer func() { checkpointtest.Must(t, x.Close()) }()
	to := manual(t, x)
	manual(t, x)
	checkpointtest.Must(t, validate.MarkDamaged(ctx, x, to, "it was flipped"))
	var damaged *state.DamagedError
	if _, err := PlanTo(ctx, f.Open(), nil, "PRD-009", Options{To: to}); !errors.As(err, &damaged) || damaged.Checkpoint != to {
		t.Errorf("got %v", err)
	}
	plan, err := PlanTo(ctx, f.Open(), nil, "PRD-009", Options{To: to, Force: true})
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "the target", plan.Target.ID, to)
}
