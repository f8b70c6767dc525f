package survey

import (
	"slices"
	"sync"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
)

// KnownActs returns when and where the once workstreams of the PRD have happened in any
// session, or may have. A resumed session has the acts of earlier sessions on record.
// KnownActs reads the journals of earlier sessions only if it must: if the pipeline has a
// once workstream, and the session is new or did not know that workstream as once. If a
// session can't be read, any such workstream may have happened in it.
func KnownActs(store *checkpoint.Store, p *pipeline.Pipeline, st *state.State, resumes bool) ([]state.Act, error) {
	var known []state.Act
	if st != nil {
		known = st.KnownActs()
	}
	asked := unknownOnce(p, st, resumes)
	if len(asked) == 0 || store == nil {
		return known, nil
	}
	acts, unread, err := store.Reader().Acts(p.ID, st)
	if err != nil {
		return nil, err
	}
	for _, name := range asked {
		if len(unread) > 0 && state.NewestAct(acts, name) == nil {
			acts = append(acts, state.Act{Workstream: name, Uncertain: true, Unread: state.Text(unread[0])})
		}
	}
	return acts, nil
}

// unknownOnce names the once workstreams, without those for which the resumed session has
// read the earlier sessions already.
func unknownOnce(p *pipeline.Pipeline, st *state.State, resumes bool) []string {
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

// EarlierRuns returns a function that returns the results of earlier runs, by workstream,
// of workstreams with a cache. It returns nil if no workstream has one. The function reads
// all journals of the PRD, but only once, so it should be called only if something is to
// run. Results whose artifacts are not all kept as objects are left out.
func EarlierRuns(store *checkpoint.Store, p *pipeline.Pipeline, w *workspace.Workspace) func() map[string][]state.Result {
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
	return sync.OnceValue(func() map[string][]state.Result {
		all := store.Reader().Results(p.ID, names)
		for name, results := range all {
			all[name] = slices.DeleteFunc(results, func(r state.Result) bool {
				return slices.ContainsFunc(r.Work.Artifacts, func(a state.Artifact) bool {
					kept, err := w.Contents().HasObject(a.Digest)
					return a.LeftOut || !kept || err != nil
				})
			})
		}
		return all
	})
}
