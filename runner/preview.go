package runner

import (
	"context"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// Preview returns the plan of a run without running it. It reads files and changes
// nothing. st is nil for a first run.
func Preview(ctx context.Context, o Options, st *state.State) (*plan.Plan, error) {
	o = o.withDefaults()
	pl, err := inspect(ctx, o, st)
	if err != nil {
		return nil, err
	}
	p := pl.Plan(o.Now())
	if st != nil {
		p.WarnOfBudgets(o.Pipeline, st)
	}
	return p, nil
}

// inspect gathers the facts for a plan, and returns the planner.
func inspect(ctx context.Context, o Options, st *state.State) (*plan.Planner, error) {
	w, done, err := o.workspaceFiles()
	if err != nil {
		return nil, err
	}
	defer done()
	acts, err := o.knownActs(st)
	if err != nil {
		return nil, err
	}
	if st, err = o.baseState(st); err != nil {
		return nil, err
	}
	if o, err = o.withResults(st); err != nil {
		return nil, err
	}
	c, err := plan.Choose(o.Pipeline, st, o.Select)
	if err != nil {
		return nil, err
	}
	facts := plan.NewFacts(st)
	facts.Acts = acts
	facts.EarlierRuns = o.earlierRuns(w)
	sv := o.surveyor(w)
	if err := sv.GatherAll(ctx, facts, st, o.Git, o.OnConflict, true); err != nil {
		return nil, err
	}
	return plan.New(o.Pipeline, st, facts, o.OnConflict, c), nil
}
