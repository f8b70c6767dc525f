package info

import (
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/pipeline/graph"
)

// NewGraph returns the graph of a session. p is the pipeline that it ran; nil: it is not known, and what a workstream
// needs is known only if it has run. Titles are those on record, in which no value is sensitive.
func NewGraph(st *state.State, p *pipeline.Pipeline) *graph.Graph {
	g := &graph.Graph{FormatVersion: graph.FormatVersion, PRD: st.PRD, Phases: []graph.Phase{}}
	if p != nil {
		g = graph.New(p)
	}
	g.Title = st.Title
	known := map[string]graph.Workstream{}
	phases := map[string]graph.Phase{}
	for _, phase := range g.Phases {
		phases[phase.Name] = phase
		for _, w := range phase.Workstreams {
			known[w.Name] = w
		}
	}
	g.Phases = nil
	for i, from := range st.Phases {
		phase, has := phases[from.Name]
		if !has {
			phase = graph.Phase{Name: from.Name, Gates: recordedGates(from.Gates)}
		}
		phase.Title, phase.Number, phase.Workstreams = from.Title, i+1, nil
		for _, w := range from.Workstreams {
			node, has := known[w.Name]
			if !has {
				node = graph.Workstream{Name: w.Name, Batch: w.Batch, Agent: w.Agent, DependsOn: slices.Sorted(maps.Keys(w.Digest.Results)), Gates: recordedGates(w.Gates)}
			}
			node.Title = w.Title
			phase.Workstreams = append(phase.Workstreams, node)
		}
		g.Phases = append(g.Phases, phase)
	}
	return g
}

// recordedGates returns gates whose kinds are not known.
func recordedGates(gates []*state.Gate) []graph.Gate {
	all := []graph.Gate{}
	for _, g := range gates {
		name, _, _ := state.CutLabel(g.Label)
		all = append(all, graph.Gate{Name: name, Kind: string(pipeline.GateCommand)})
	}
	return all
}
