package runner

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// results returns what finds the results of earlier runs, by workstream, of those with a cache: nil
// where no workstream has one. All journals of the PRD are read then, so that it
// is called once something is to run, and reads once. A result whose artifacts are not all kept as
// objects does not count.
func (o Options) results(w *workspace.Workspace) func() map[string][]checkpoint.Result {
	names := make(map[string]bool)
	for _, phase := range o.Pipeline.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Cache {
				names[ws.Name] = true
			}
		}
	}
	if len(names) == 0 || o.NoCache || o.Store == nil {
		return nil
	}
	return sync.OnceValue(func() map[string][]checkpoint.Result {
		all := o.Store.Results(o.Pipeline.ID, names)
		for name, results := range all {
			all[name] = slices.DeleteFunc(results, func(r checkpoint.Result) bool {
				return slices.ContainsFunc(r.Work.Artifacts, func(a checkpoint.Artifact) bool {
					kept, err := w.Kept(a.Digest)
					return a.LeftOut || !kept || err != nil
				})
			})
		}
		return all
	})
}

// resultsOf returns the results of earlier runs of a workstream.
func (f *Facts) resultsOf(ws *pipeline.Workstream) []checkpoint.Result {
	if f.results == nil || !ws.Cache {
		return nil
	}
	return f.results()[ws.Name]
}

// cached finds the result of an earlier run from the digest that a workstream would be run from now.
// It finds none where the last attempt on record is from this digest too: then there is another
// reason to run the workstream again.
func (pl *planner) cached(ws *pipeline.Workstream, rec *checkpoint.Workstream) *checkpoint.Result {
	now, diags := pl.digest(ws)
	if diags.HasErrors() || rec != nil && rec.Attempts > 0 && rec.Digest.Equal(now) {
		return nil
	}
	results := pl.facts.resultsOf(ws)
	i := slices.IndexFunc(results, func(r checkpoint.Result) bool { return r.Work.Digest.Equal(now) })
	if i < 0 {
		return nil
	}
	return &results[i]
}

// orCached takes the result of an earlier run in place of a run, or says that it may. What
// was chosen to run again runs.
func (s subject) orCached(step Step) Step {
	if s.cache == nil || s.forced != "" || step.Decision != Run && step.Decision != Rerun {
		return step
	}
	switch result, perhaps := s.cache(); {
	case result != nil:
		origin := cmp.Or(result.Work.Cached, &checkpoint.Cached{Session: result.Session, Attempt: result.Work.Attempt, At: result.At})
		step.Decision, step.result, step.Cached = Cached, result, origin
	case perhaps:
		step.On = s.rerun
		return step.with(Depends, "on what %s will give", list(s.rerun))
	}
	return step
}

// madeBefore are the artifacts that a workstream has on record, in this session and in the
// results of earlier runs.
func (l *loop) madeBefore(ws *pipeline.Workstream) []checkpoint.Artifact {
	all := slices.Clone(l.x.State().Workstream(ws.Name).Artifacts)
	for _, r := range l.facts.resultsOf(ws) {
		all = append(all, r.Work.Artifacts...)
	}
	return all
}

// takeCached puts the artifacts of an earlier run in place, and returns what that run gave. It
// removes files that the workstream made before (had), and that this result does not have. It
// returns false where other files match the declared artifacts then: no run has made these, and only
// a run tells what it makes of them.
func (l *loop) takeCached(ctx context.Context, n *node, id string, had []checkpoint.Artifact) (performed, bool, error) {
	work := n.step.result.Work
	if err := replace(ctx, l.sv.files, id, had, work.Artifacts, asARunDoes); err != nil {
		return performed{}, false, err
	}
	made, leftOut, err := l.sv.keepArtifacts(ctx, n.ws)
	same := func(a, b checkpoint.Artifact) bool {
		return a.Path == b.Path && a.Mode == b.Mode && a.Digest == b.Digest
	}
	if err != nil || len(leftOut) > 0 || !slices.EqualFunc(made, work.Artifacts, same) {
		return performed{}, false, nil //nolint:nilerr // a run tells what is wrong
	}
	now := l.o.Now()
	r := performed{cached: n.step.Cached, artifacts: made, result: Result{Outcome: Exited, Started: now, Ended: now}}
	r.outputs = outputs{metrics: work.Metrics, summary: string(work.Summary), location: string(work.Location)}
	for name, value := range work.Outputs {
		if r.outputs.values == nil {
			r.outputs.values = make(map[string]string, len(work.Outputs))
		}
		r.outputs.values[name] = string(value)
	}
	return r, true, nil
}

// asARunDoes lets each file be overwritten, as the command would overwrite it. An edit was captured
// before, or the build was refused.
func asARunDoes(string, string) bool { return true }
