package runner

import (
	"prdrunner/checkpoint"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// acts gathers what has happened only once, or may have, in the sessions of the PRD. The session that is
// gone on with has on record what those before it did, and for a new one all that are here are read. That
// is done only where the pipeline asks: it has a workstream that must happen only once, and that the session
// which is gone on with did not know as such. What a session did that can't be read is not known: every such
// workstream may have happened in it.
func (o Options) acts(st *checkpoint.State) ([]checkpoint.Act, error) {
	var known []checkpoint.Act
	if st != nil {
		known = st.KnownActs()
	}
	asked := o.newOnce(st)
	if len(asked) == 0 || o.Store == nil {
		return known, nil
	}
	acts, unread, err := o.Store.Acts(o.Pipeline.ID, st)
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
func (o Options) newOnce(st *checkpoint.State) []string {
	var names []string
	for _, phase := range o.Pipeline.Phases {
		for _, ws := range phase.Workstreams {
			if ws.Effect != pipeline.Once {
				continue
			}
			if o.resumes(st) {
				if rec := st.Workstream(ws.Name); rec != nil && rec.Once {
					continue
				}
			}
			names = append(names, ws.Name)
		}
	}
	return names
}
