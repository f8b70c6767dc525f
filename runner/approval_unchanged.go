package runner

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// ApprovalUnchanged reports whether the files and values that an approval asked about are
// unchanged. Commands that answer while nothing runs call it. It reads files and changes
// nothing. If the pipeline file is unchanged but its variables have other values, only
// the files count.
func ApprovalUnchanged(ctx context.Context, o Options, st *state.State, gate *state.Gate) (bool, error) {
	o, err := o.withDefaults().withResults(st)
	if err != nil {
		return false, err
	}
	g := o.Pipeline.Gate(gate.Label)
	if g == nil {
		return false, nil
	}
	w, done, err := o.workspaceFiles()
	if err != nil {
		return false, err
	}
	defer done()
	facts := plan.NewFacts(st)
	if err := o.surveyor(w).GatherForAnswer(ctx, facts, st, g); err != nil {
		return false, err
	}
	v, diags := plan.New(o.Pipeline, st, facts, o.OnConflict, &plan.Chosen{}).VerdictSince(g, gate.Seen)
	if diags.HasErrors() {
		return false, fmt.Errorf("find out what %s asks about: %w", gate.Label, diags)
	}
	same := v.Definition == gate.Definition || o.Pipeline.Digest == st.Pipeline.Digest
	unmoved, _ := facts.WorkspaceUnchanged(g)
	return same && v.Judged == gate.Judged && (plan.DeclaresFiles(g) || unmoved), nil
}
