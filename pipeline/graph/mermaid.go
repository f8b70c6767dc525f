package graph

import (
	"fmt"
	"io"
	"strings"
)

// WriteMermaid draws a Mermaid flowchart, which GitHub shows in Markdown.
func (g *Graph) WriteMermaid(w io.Writer) error {
	m := mermaid{printer: printer{w: w}, nodes: make(map[string]string)}
	for _, phase := range g.Phases {
		for _, workstream := range phase.Workstreams {
			// Names may hold brackets and quotes, which ids can't.
			m.nodes[workstream.Name] = fmt.Sprintf("w%d", len(m.nodes)+1)
		}
	}
	m.linef("flowchart LR")
	for _, phase := range g.Phases {
		m.writePhase(phase)
	}
	if g.Review {
		m.linef("  review{{review}}")
		m.linef("  review ==> p%d", g.Phases[0].Number)
	}
	for i := 1; i < len(g.Phases); i++ {
		m.linef("  p%d ==> p%d", g.Phases[i-1].Number, g.Phases[i].Number)
	}
	return m.err
}

type mermaid struct {
	printer
	nodes map[string]string // ids by name
	gates int
}

func (m *mermaid) writePhase(p Phase) {
	m.linef("  subgraph p%d[%s]", p.Number, mermaidQuote(p.label()))
	for _, w := range p.Workstreams {
		m.linef("    %s[%s]", m.nodes[w.Name], mermaidQuote(w.label()))
		for _, gate := range w.Gates {
			m.linef("    %s -.- %s", m.nodes[w.Name], m.addGate(gate))
		}
	}
	for _, gate := range p.Gates {
		m.linef("    %s", m.addGate(gate))
	}
	m.linef("  end")
	for _, w := range p.Workstreams {
		for _, name := range w.upstream() {
			arrow := "-->"
			if w.RunOn != "" {
				arrow = "-. " + w.RunOn + " .->"
			}
			m.linef("  %s %s %s", m.nodes[name], arrow, m.nodes[w.Name])
		}
	}
}

// addGate adds a node for a gate.
func (m *mermaid) addGate(gate Gate) string {
	m.gates++
	return fmt.Sprintf("g%d{{%s}}", m.gates, mermaidQuote(gate.Name+" ("+gate.Kind+")"))
}

// mermaidQuote returns a Mermaid string. Mermaid has HTML entities but no backslashes.
func mermaidQuote(s string) string {
	escape := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;")
	return `"` + escape.Replace(sanitized(s)) + `"`
}
