package graph

import (
	"fmt"
	"io"
	"strings"
)

// WriteDOT draws for Graphviz: phases are clusters, workstreams are boxes, gates are
// diamonds.
func (g *Graph) WriteDOT(w io.Writer) error {
	p := &printer{w: w}
	p.linef("digraph %s {", dotQuote(g.PRD))
	p.linef("  label=%s;", dotQuote(nodeLabel(g.PRD, g.Title)))
	p.linef("  labelloc=t;\n  rankdir=LR;\n  compound=true;\n  node [shape=box];")
	for _, phase := range g.Phases {
		phase.writeDOT(p)
	}
	var before *Phase // the nearest phase before with workstreams, of which an empty for_each has none
	for _, after := range g.Phases {
		if len(after.Workstreams) == 0 {
			continue
		}
		if before != nil {
			p.linef("  %s -> %s [ltail=%s, lhead=%s, style=bold];",
				dotQuote(before.Workstreams[len(before.Workstreams)-1].Name), dotQuote(after.Workstreams[0].Name),
				before.cluster(), after.cluster())
		}
		before = &after
	}
	if first := g.firstWorkstream(); g.Review && first != "" {
		p.linef("  \"review before phase 1\" [shape=diamond, label=\"review\"];")
		p.linef("  \"review before phase 1\" -> %s [style=bold];", dotQuote(first))
	}
	p.linef("}")
	return p.err
}

// firstWorkstream returns the name of the first workstream, "" if there is none.
func (g *Graph) firstWorkstream() string {
	for _, phase := range g.Phases {
		if len(phase.Workstreams) > 0 {
			return phase.Workstreams[0].Name
		}
	}
	return ""
}

func (p Phase) cluster() string { return fmt.Sprintf("cluster_%d", p.Number) }

func (p Phase) writeDOT(out *printer) {
	out.linef("  subgraph %s {", p.cluster())
	out.linef("    label=%s;", dotQuote(p.label()))
	for _, w := range p.Workstreams {
		out.linef("    %s [label=%s];", dotQuote(w.Name), dotQuote(w.label()))
		writeDOTGates(out, w.Gates, w.Name)
	}
	writeDOTGates(out, p.Gates, "")
	out.linef("  }")
	for _, w := range p.Workstreams {
		for _, name := range w.upstream() {
			style := ""
			if w.RunOn != "" {
				style = fmt.Sprintf(" [style=dotted, label=%s]", dotQuote(w.RunOn))
			}
			out.linef("  %s -> %s%s;", dotQuote(name), dotQuote(w.Name), style)
		}
	}
}

// writeDOTGates draws gates, with edges from the workstream that they judge.
func writeDOTGates(out *printer, gates []Gate, owner string) {
	for _, gate := range gates {
		// Names contain no spaces, so this node can't be a workstream.
		node := dotQuote(strings.TrimSpace("gate " + gate.Name + " " + owner))
		out.linef("    %s [shape=diamond, label=%s];", node, dotQuote(fmt.Sprintf("%s\n%s", gate.Name, gate.Kind)))
		if owner != "" {
			out.linef("    %s -> %s [style=dashed, arrowhead=none];", dotQuote(owner), node)
		}
	}
}

// dotQuote returns a DOT string.
func dotQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		default:
			b.WriteString(sanitized(string(r)))
		}
	}
	b.WriteByte('"')
	return b.String()
}
