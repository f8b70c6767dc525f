package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// unstableInputs warns of inputs that a workstream of the same phase may write
// while they are read, since neither waits for the other: what is seen of them
// differs from run to run. Once for each two blocks.
func (b *builder) unstableInputs(def *phaseDef) {
	claims := collectClaims(def.phase.Workstreams)
	if len(claims) == 0 {
		return
	}
	u := &unstableSearch{b: b, claims: claims, found: make(map[string][]*claim), told: make(map[[2]*workstreamDef]bool)}
	for _, ws := range def.phase.Workstreams {
		u.waits = make(map[*workstreamDef]bool)
		for _, pattern := range ws.Inputs {
			u.read(ws, ws.Name, pattern, ws.def.block.inputs.rng())
		}
		for _, g := range ws.Gates {
			for _, pattern := range g.Inputs {
				u.read(ws, g.Label(), pattern, g.Range)
			}
		}
	}
}

// unstableSearch looks for the artifacts that a pattern of inputs may match.
type unstableSearch struct {
	b           *builder
	claims      []*claim // sorted by prefix
	comparisons int
	found       map[string][]*claim // by the pattern of the inputs
	told        map[[2]*workstreamDef]bool
	waits       map[*workstreamDef]bool // blocks that the workstream at hand waits for as a whole
}

func (u *unstableSearch) done() bool {
	return len(u.told) >= maxOverlaps || u.comparisons >= maxComparisons
}

// read warns of the artifacts that one pattern may match of what a workstream, or
// its gate, reads.
func (u *unstableSearch) read(ws *Workstream, reader, pattern string, place hcl.Range) {
	claims, known := u.found[pattern]
	if !known {
		claims = u.candidates(pattern)
		u.found[pattern] = claims
	}
	for _, c := range claims {
		for _, writer := range c.owners {
			if u.done() {
				return
			}
			if !u.beside(ws, writer) {
				continue
			}
			u.told[[2]*workstreamDef{ws.def, writer.def}] = true
			u.b.add(hcl.Diagnostics{{
				Severity: hcl.DiagWarning,
				Summary:  "Input written at the same time",
				Detail: fmt.Sprintf("%s may write %q (line %d) while %s reads %q: neither waits for the other, so what is read differs from run to run. "+
					"Add one to depends_on of the other, or leave the file out of what is read.",
					writer.Name, c.pattern, writer.def.block.artifacts.rng().Start.Line, reader, pattern),
				Subject: &place,
			}})
		}
	}
}

// beside reports whether a workstream may run at the same time as another one, if
// that was not said of their blocks.
func (u *unstableSearch) beside(ws, writer *Workstream) bool {
	if ws == writer || u.told[[2]*workstreamDef{ws.def, writer.def}] {
		return false
	}
	waits, known := u.waits[writer.def]
	if !known {
		waits = ws.after(target{def: writer.def})
		u.waits[writer.def] = waits
	}
	if waits {
		return false
	}
	u.comparisons++
	return !ws.after(writer.target()) && !writer.after(ws.target())
}

// candidates are the claims that certainly have a path in common with a pattern.
func (u *unstableSearch) candidates(pattern string) []*claim {
	var all []*claim
	for _, g := range compileGlob(pattern) {
		for end := range len(g.prefix) { // those whose prefix begins this one's
			all = append(all, u.matching(g, g.prefix[:end], true)...)
		}
		all = append(all, u.matching(g, g.prefix, false)...)
	}
	return all
}

// matching are the claims with a prefix, or one that begins with it, that overlap
// a glob.
func (u *unstableSearch) matching(g glob, prefix string, exact bool) []*claim {
	var all []*claim
	i, _ := slices.BinarySearchFunc(u.claims, prefix, func(c *claim, prefix string) int { return cmp.Compare(c.glob.prefix, prefix) })
	for _, c := range u.claims[i:] {
		if u.done() || !strings.HasPrefix(c.glob.prefix, prefix) || exact && c.glob.prefix != prefix {
			break
		}
		u.comparisons++
		if g.overlaps(c.glob) {
			all = append(all, c)
		}
	}
	return all
}
