package graph

import (
	"fmt"
	"io"
	"strings"
)

// WriteText draws a tree for people: phases, gates, and workstreams with arrows to their
// dependencies.
func (g *Graph) WriteText(w io.Writer) error {
	root := branch{text: nodeLabel(g.PRD, g.Title)}
	if g.Review {
		root.children = append(root.children, branch{text: "review"})
	}
	for _, phase := range g.Phases {
		root.children = append(root.children, phase.branch())
	}
	p := &printer{w: w}
	p.linef("%s", root.text)
	root.printTree(p, "")
	return p.err
}

// branch is a line of the tree, with the lines below it.
type branch struct {
	text     string
	children []branch
}

func (b branch) printTree(p *printer, indent string) {
	for i, child := range b.children {
		joint, below := "├─ ", "│  "
		if i == len(b.children)-1 {
			joint, below = "└─ ", "   "
		}
		p.linef("%s%s%s", indent, joint, child.text)
		child.printTree(p, indent+below)
	}
}

func (p Phase) branch() branch {
	b := branch{text: "phase " + p.label()}
	if p.MaxParallel > 0 {
		b.text += fmt.Sprintf(" (at most %d at once)", p.MaxParallel)
	}
	for _, w := range p.Workstreams {
		b.children = append(b.children, w.branch())
	}
	b.children = append(b.children, gateBranches(p.Gates)...)
	return b
}

func (w Workstream) branch() branch {
	b := branch{text: w.label(), children: gateBranches(w.Gates)}
	if w.Effect == "once" {
		b.text += " (once)"
	}
	if upstream := w.upstream(); len(upstream) > 0 {
		b.text += " ← " + sanitized(strings.Join(upstream, ", "))
	}
	return b
}

func gateBranches(gates []Gate) []branch {
	var branches []branch
	for _, gate := range gates {
		text := fmt.Sprintf("gate %s (%s)", sanitized(gate.Name), gate.Kind)
		if gate.Pause {
			text += ", then a pause"
		}
		branches = append(branches, branch{text: text})
	}
	return branches
}
