package info

import (
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/view"
)

// Marks returns how the statuses of workstreams and gates are drawn, by the name of the workstream or the
// label of the gate.
func (s SessionStatus) Marks() map[string]graph.Mark {
	marks := map[string]graph.Mark{}
	addGates := func(gates []*state.Gate) {
		for _, g := range gates {
			marks[g.Label] = markOfGate(g)
		}
	}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			marks[w.Name] = s.markOf(w)
			addGates(w.Gates)
		}
		addGates(p.Gates)
	}
	return marks
}

// markOf returns the mark of a workstream. One whose work is done still runs while its gates judge it.
func (s SessionStatus) markOf(w *state.Workstream) graph.Mark {
	text, style := s.DescribeWorkstream(w)
	m := newMark(w.Status, style, text)
	switch {
	case s.Outdated[w.Name] != "":
		m.Sign = signOf(state.Uncertain)
	case style == view.Red:
		m.Sign = signOf(state.Failed)
	case w.Status == state.Completed && style == view.Dim:
		m.Sign = reusedSign
	}
	return m
}

// markOfGate returns the mark of a gate.
func markOfGate(g *state.Gate) graph.Mark {
	style := view.None
	switch g.Status {
	case state.Passed:
		style = view.Green
	case state.Failed, state.Rejected:
		style = view.Red
	case state.Waiting, state.Interrupted:
		style = view.Yellow
	case state.Skipped:
		style = view.Dim
	case state.Pending, state.Running, state.Succeeded, state.Completed, state.Uncertain:
	}
	if Awaits(g) {
		style = view.Yellow
	}
	return newMark(g.Status, style, string(g.Status))
}

func newMark(status state.StepStatus, style view.Style, text string) graph.Mark {
	m := graph.Mark{Class: ClassOf(style), Sign: signOf(status), Text: text}
	if style == view.None && status == state.Pending {
		m.Class = graph.ClassPending
	}
	return m
}

// ClassOf returns the class of what a terminal shows in a style. What has none is running.
func ClassOf(style view.Style) graph.Class {
	switch style {
	case view.Green:
		return graph.ClassDone
	case view.Red:
		return graph.ClassFailed
	case view.Yellow:
		return graph.ClassWaiting
	case view.Dim:
		return graph.ClassAside
	case view.None, view.Bold:
	}
	return graph.ClassRunning
}

// Legend returns the marks that there are, each with the words for it.
func Legend() []graph.Mark {
	return []graph.Mark{
		{Class: graph.ClassPending, Sign: signOf(state.Pending), Text: "pending"},
		{Class: graph.ClassRunning, Sign: signOf(state.Running), Text: "running, or judged by its gates"},
		{Class: graph.ClassDone, Sign: signOf(state.Completed), Text: "done"},
		{Class: graph.ClassAside, Sign: reusedSign, Text: "done by an earlier session"},
		{Class: graph.ClassAside, Sign: signOf(state.Skipped), Text: "skipped"},
		{Class: graph.ClassWaiting, Sign: signOf(state.Waiting), Text: "waits for a person"},
		{Class: graph.ClassWaiting, Sign: signOf(state.Uncertain), Text: "interrupted, uncertain or outdated"},
		{Class: graph.ClassFailed, Sign: signOf(state.Failed), Text: "failed"},
	}
}

// reusedSign is the sign of the result of an earlier session.
const reusedSign = "↺"

// signOf returns the sign of a status.
func signOf(status state.StepStatus) string {
	switch status {
	case state.Completed, state.Passed:
		return "✓"
	case state.Failed, state.Rejected:
		return "✗"
	case state.Running, state.Succeeded:
		return "▸"
	case state.Waiting:
		return "?"
	case state.Uncertain, state.Interrupted:
		return "!"
	case state.Skipped:
		return "–"
	case state.Pending:
	}
	return "○"
}

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
