package survey

import (
	"slices"
	"sync"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// KnownActs gathers what has happened only once, or may have, in the sessions of the PRD. The session that is
// gone on with has on record what those before it did, and for a new one all that are here are read. That
// is done only where the pipeline asks: it has a workstream that must happen only once, and that the session
// which is gone on with did not know as such. What a session did that can't be read is not known: every such
// workstream may have happened in it.
func KnownActs(store *checkpoint.Store, p *pipeline.Pipeline, st *checkpoint.State, resumes bool) ([]checkpoint.Act, error) {
	var known []checkpoint.Act
	if st != nil {
		known = st.KnownActs()
	}
	asked := newOnce(p, st, resumes)
	if len(asked) == 0 || store == nil {
		return known, nil
	}
	acts, unread, err := store.Acts(p.ID, st)
	if err != nil {
		return nil, err
	}
	for _, name := range asked {
		if len(unread) > 0 && plan.NewestAct(acts, name) == nil {
			acts = append(acts, checkpoint.Act{Workstream: name, Uncertain: true, Unread: checkpoint.Text(unread[0])})
		}
	}
	return acts, nil
}

// newOnce names the workstreams that must happen only once, but for those of which the session that is
// gone on with asked already what has happened.
func newOnce(p *pipeline.Pipeline, st *checkpoint.State, resumes bool) []string {
	var names []string
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Effect != pipeline.Once {
				continue
			}
			if resumes {
				if rec := st.Workstream(ws.Name); rec != nil && rec.Once {
					continue
				}
			}
			names = append(names, ws.Name)
		}
	}
	return names
}

// EarlierRuns returns what finds the results of earlier runs, by workstream, of those with a cache: nil
// where no workstream has one. All journals of the PRD are read then, so that it
// is called once something is to run, and reads once. A result whose artifacts are not all kept as
// objects does not count.
func EarlierRuns(store *checkpoint.Store, p *pipeline.Pipeline, w *workspace.Workspace) func() map[string][]checkpoint.Result {
	names := make(map[string]bool)
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Cache {
				names[ws.Name] = true
			}
		}
	}
	if len(names) == 0 || store == nil {
		return nil
	}
	return sync.OnceValue(func() map[string][]checkpoint.Result {
		all := store.Results(p.ID, names)
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
