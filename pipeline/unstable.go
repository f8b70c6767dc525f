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
		u.readAll(ws, ws.Name, ws.Inputs, ws.def.block.inputs)
		for _, g := range ws.Gates {
			u.readAll(ws, g.Label(), g.Inputs, g.def.block.inputs)
		}
	}
}

// readAll is read for a list of globs.
func (u *unstableSearch) readAll(ws *Workstream, reader string, globs []string, a *argument) {
	for i, glob := range globs {
		if !isExclusion(glob) {
			u.read(ws, reader, declared{glob, exclusions(globs[i+1:])}, a.element(i, len(globs)))
		}
	}
}

// declared is a glob of a list with the patterns that the list excludes behind it.
type declared struct {
	glob     string
	excluded []string
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
func (u *unstableSearch) read(ws *Workstream, reader string, d declared, place hcl.Range) {
	key := strings.Join(append([]string{d.glob}, d.excluded...), except)
	claims, known := u.found[key]
	if !known {
		claims = u.candidates(d)
		u.found[key] = claims
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
					writer.Name, c.pattern, writer.def.block.artifacts.rng().Start.Line, reader, d.glob),
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

// candidates are the claims that certainly have a path in common with what is read.
func (u *unstableSearch) candidates(d declared) []*claim {
	var all []*claim
	for _, g := range compileGlob(d.glob) {
		reading := newClaim(d.glob, g, d.excluded)
		for end := range len(g.prefix) { // those whose prefix begins this one's
			all = append(all, u.matching(reading, g.prefix[:end], true)...)
		}
		all = append(all, u.matching(reading, g.prefix, false)...)
	}
	return all
}

// matching are the claims with a prefix, or one that begins with it, that overlap
// what is read.
func (u *unstableSearch) matching(reading *claim, prefix string, exact bool) []*claim {
	var all []*claim
	i, _ := slices.BinarySearchFunc(u.claims, prefix, func(c *claim, prefix string) int { return cmp.Compare(c.glob.prefix, prefix) })
	for _, c := range u.claims[i:] {
		if u.done() || !strings.HasPrefix(c.glob.prefix, prefix) || exact && c.glob.prefix != prefix {
			break
		}
		u.comparisons += 1 + len(reading.dirs) + len(c.dirs)
		if reading.overlaps(c) || reading.contains(c) || c.contains(reading) {
			all = append(all, c)
		}
	}
	return all
}
