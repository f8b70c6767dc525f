package plan

import (
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// ShapeOf returns the part of a pipeline that the state records.
func ShapeOf(p *pipeline.Pipeline) state.Shape {
	shape := state.Shape{Phases: make([]state.PhaseShape, len(p.Phases))}
	for i, phase := range p.Phases {
		ps := state.PhaseShape{
			Name: phase.Name, Title: unlessEqual(phase.Title, phase.Name), Gates: gateNames(phase.Gates),
			Workstreams: make([]state.WorkstreamShape, len(phase.Workstreams)), MaxIterations: maxIterations(phase),
		}
		for j, ws := range phase.Workstreams {
			ps.Workstreams[j] = state.WorkstreamShape{
				Name: ws.Name, Title: unlessEqual(ws.Title, ws.Name), Batch: ws.Batch, Once: ws.Effect == pipeline.Once, Agent: agentName(ws), Gates: gateNames(ws.Gates),
			}
		}
		shape.Phases[i] = ps
	}
	shape.Agents = agentsOf(p)
	return shape
}

// SameShape reports whether the state already has the shape of the pipeline.
func SameShape(st *state.State, p *pipeline.Pipeline) bool {
	if len(st.Phases) != len(p.Phases) || !slices.Equal(st.Agents, agentsOf(p)) {
		return false
	}
	for i, phase := range p.Phases {
		had := st.Phases[i]
		if had.Name != phase.Name || had.Title != unlessEqual(phase.Title, phase.Name) ||
			hadIterations(had) != maxIterations(phase) || len(had.Workstreams) != len(phase.Workstreams) || !sameGates(had.Gates, phase.Gates) {
			return false
		}
		for j, ws := range phase.Workstreams {
			w := had.Workstreams[j]
			if w.Name != ws.Name || w.Title != unlessEqual(ws.Title, ws.Name) || w.Batch != ws.Batch || w.Once != (ws.Effect == pipeline.Once) || w.Agent != agentName(ws) || !sameGates(w.Gates, ws.Gates) {
				return false
			}
		}
	}
	return true
}

// agentsOf returns the agents of a pipeline.
func agentsOf(p *pipeline.Pipeline) []state.AgentShape {
	var agents []state.AgentShape
	for _, a := range p.Agents {
		agents = append(agents, state.AgentShape{Name: a.Name, Role: a.Role})
	}
	return agents
}

// agentName returns the name of the agent that does a workstream, "" if none does.
func agentName(ws *pipeline.Workstream) string {
	if ws.Agent == nil {
		return ""
	}
	return ws.Agent.Name
}

// maxIterations returns how often a phase may run its workstreams, 0 if it does not repeat.
func maxIterations(phase *pipeline.Phase) int {
	if phase.Repeat == nil {
		return 0
	}
	return phase.Repeat.Max
}

// hadIterations returns the same of a phase on record.
func hadIterations(had *state.Phase) int {
	if had.Iteration == nil {
		return 0
	}
	return had.Iteration.Max
}

func sameGates(had []*state.Gate, gates []*pipeline.Gate) bool {
	if len(had) != len(gates) {
		return false
	}
	for i, g := range gates {
		if had[i].Label != g.Label() {
			return false
		}
	}
	return true
}

func gateNames(gates []*pipeline.Gate) []string {
	var names []string
	for _, g := range gates {
		names = append(names, g.Name)
	}
	return names
}

func unlessEqual(title, name string) string {
	if title == name {
		return ""
	}
	return title
}
