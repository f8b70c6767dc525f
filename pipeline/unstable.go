package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// unstableInputs warns of inputs that another workstream of the same phase may write at
// the same time, because neither waits for the other. It warns once for each two blocks.
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

// readAll calls read for each glob of a list.
func (u *unstableSearch) readAll(ws *Workstream, reader string, globs []string, a *argument) {
	for i, glob := range globs {
		if !isExclusion(glob) {
			u.read(ws, reader, declared{glob, exclusions(globs[i+1:])}, a.element(i, len(globs)))
		}
	}
}

// declared is a glob of a list, with the patterns of the exclusions that follow it.
type declared struct {
	glob     string
	excluded []string
}

// unstableSearch finds the artifacts that inputs may match.
type unstableSearch struct {
	b           *builder
	claims      []*claim // sorted by prefix
	comparisons int
	found       map[string][]*claim // by glob and exclusions
	told        map[[2]*workstreamDef]bool
	waits       map[*workstreamDef]bool // whether the present workstream waits for a whole block
}

func (u *unstableSearch) done() bool {
	return len(u.told) >= maxOverlaps || u.comparisons >= maxComparisons
}

// read warns of the artifacts that a glob may match. The reader is the workstream or one
// of its gates.
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

// beside reports whether two workstreams may run at the same time. It returns false if a
// warning about their blocks was given already.
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

// candidates returns the claims that certainly have a path in common with a glob.
func (u *unstableSearch) candidates(d declared) []*claim {
	var all []*claim
	for _, g := range compileGlob(d.glob) {
		reading := newClaim(d.glob, g, d.excluded)
		for end := range len(g.prefix) { // claims with a shorter prefix
			all = append(all, u.matching(reading, g.prefix[:end], true)...)
		}
		all = append(all, u.matching(reading, g.prefix, false)...)
	}
	return all
}

// matching returns the claims with this prefix that overlap the given one. If exact is
// false, it also returns claims with a longer prefix.
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
