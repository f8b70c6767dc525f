package runner

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// Preview makes the plan of a run without running it. It reads files and
// changes nothing. The state is nil for a first run.
func Preview(ctx context.Context, o Options, st *checkpoint.State) (*Plan, error) {
	o = o.withDefaults()
	pl, err := look(ctx, o, st)
	if err != nil {
		return nil, err
	}
	return pl.plan(o.Now()), nil
}

// Origin returns what a workstream would be run from now, for who says that it
// is done. What can't be known yet, since something before it has to run again,
// or since the pipeline does not have it any more, is what its last attempt was
// started from: nil where there was none. It changes nothing.
func Origin(ctx context.Context, o Options, st *checkpoint.State, workstream string) (*checkpoint.Digest, error) {
	ws := o.Pipeline.Workstream(workstream)
	if ws == nil {
		return lastOrigin(st.Workstream(workstream)), nil
	}
	o.Select = Selection{}
	pl, err := look(ctx, o.withDefaults(), st)
	if err != nil {
		return nil, err
	}
	return pl.origin(ws), nil
}

// origin is what a workstream counts as run from that is said to be done.
func (pl *planner) origin(ws *pipeline.Workstream) *checkpoint.Digest {
	d, diags := pl.digest(ws)
	if diags.HasErrors() {
		return lastOrigin(pl.st.Workstream(ws.Name))
	}
	return &d
}

func lastOrigin(rec *checkpoint.Workstream) *checkpoint.Digest {
	if rec == nil || rec.Digest.Definition == "" {
		return nil
	}
	last := rec.Digest // the record will be another one
	return &last
}

// look gathers all that a plan is made from.
func look(ctx context.Context, o Options, st *checkpoint.State) (*planner, error) {
	w, done, err := o.files()
	if err != nil {
		return nil, err
	}
	defer done()
	if o.Fresh {
		st = nil
	}
	if st == nil && o.Imported != nil {
		if st, err = imported(o.Pipeline, o.Imported, o.Now()); err != nil {
			return nil, err
		}
	}
	c, err := choose(o.Pipeline, st, o.Select)
	if err != nil {
		return nil, err
	}
	facts := newFacts()
	sv := newSurveyor(o, w)
	if err := sv.everything(ctx, facts, st, o.Git, o.OnConflict, true); err != nil {
		return nil, err
	}
	return newPlanner(o.Pipeline, st, facts, o.OnConflict, c), nil
}
