package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/glob"
)

// unstableInputs warns of inputs that another workstream of the same phase may write at
// the same time, because neither waits for the other. It warns once for each two blocks.
func (b *builder) unstableInputs(def *phaseDef) {
	artifacts := collectArtifacts(def.phase.Workstreams)
	if len(artifacts) == 0 {
		return
	}
	u := &unstableSearch{b: b, artifacts: artifacts, found: make(map[string][]*artifactGlob), told: make(map[[2]*workstreamDef]bool)}
	for _, ws := range def.phase.Workstreams {
		u.waits = make(map[*workstreamDef]bool)
		u.checkGlobs(ws, ws.Name, ws.Inputs, ws.def.block.inputs)
		for _, g := range ws.Gates {
			u.checkGlobs(ws, g.Label(), g.Inputs, g.def.block.inputs)
		}
	}
}

// checkGlobs calls read for each glob of a list.
func (u *unstableSearch) checkGlobs(ws *Workstream, reader string, globs []string, a *argument) {
	for i, text := range globs {
		if !glob.IsExclusion(text) {
			u.checkGlob(ws, reader, declared{text, glob.WithExclusions(globs, i)}, a.element(i, len(globs)))
		}
	}
}

// declared is a glob of a list.
type declared struct {
	glob    string
	pattern string // with the exclusions that follow it
}

// unstableSearch finds the artifacts that inputs may match.
type unstableSearch struct {
	b           *builder
	artifacts   []*artifactGlob // sorted by prefix
	comparisons int
	found       map[string][]*artifactGlob // by pattern
	told        map[[2]*workstreamDef]bool
	waits       map[*workstreamDef]bool // whether the present workstream waits for a whole block
}

func (u *unstableSearch) limitReached() bool {
	return len(u.told) >= maxOverlaps || u.comparisons >= maxComparisons
}

// checkGlob warns of the artifacts that a glob may match. The reader is the workstream
// or one of its gates.
func (u *unstableSearch) checkGlob(ws *Workstream, reader string, d declared, place hcl.Range) {
	artifacts, known := u.found[d.pattern]
	if !known {
		artifacts = u.candidates(d.pattern)
		u.found[d.pattern] = artifacts
	}
	for _, c := range artifacts {
		for _, writer := range c.owners {
			if u.limitReached() {
				return
			}
			if !u.mayRunTogether(ws, writer) {
				continue
			}
			u.told[[2]*workstreamDef{ws.def, writer.def}] = true
			u.b.addDiagnostics(hcl.Diagnostics{{
				Severity: hcl.DiagWarning,
				Summary:  "Input written at the same time",
				Detail: fmt.Sprintf("%s may write %q (%s) while %s reads %q: neither waits for the other, so what is read differs from run to run. "+
					"Add one to depends_on of the other, or leave the file out of what is read.",
					writer.Name, c.declared, lineOf(writer.def.block.artifacts.exprRange(), place), reader, d.glob),
				Subject: &place,
			}})
		}
	}
}

// mayRunTogether reports whether two workstreams may run at the same time. It returns
// false if a warning about their blocks was given already.
func (u *unstableSearch) mayRunTogether(ws, writer *Workstream) bool {
	if ws == writer || u.told[[2]*workstreamDef{ws.def, writer.def}] {
		return false
	}
	waits, known := u.waits[writer.def]
	if !known {
		waits = ws.waitsFor(target{def: writer.def})
		u.waits[writer.def] = waits
	}
	if waits {
		return false
	}
	there, back := ws.walkTo(writer.target()), writer.walkTo(ws.target())
	waits, waited := there.finds(writer.target()), back.finds(ws.target())
	u.comparisons += 1 + there.steps + back.steps
	return !waits && !waited
}

// candidates returns the artifact globs that certainly have a path in common with a pattern.
func (u *unstableSearch) candidates(pattern string) []*artifactGlob {
	var all []*artifactGlob
	for _, reading := range glob.Compile(pattern) {
		prefix := reading.Prefix()
		for end := range len(prefix) { // artifact globs with a shorter prefix
			all = append(all, u.matching(reading, prefix[:end], true)...)
		}
		all = append(all, u.matching(reading, prefix, false)...)
	}
	return all
}

// matching returns the artifact globs with this prefix that overlap the given one. If
// exact is false, it also returns artifact globs with a longer prefix.
func (u *unstableSearch) matching(reading *glob.Glob, prefix string, exact bool) []*artifactGlob {
	var all []*artifactGlob
	i, _ := slices.BinarySearchFunc(u.artifacts, prefix, func(c *artifactGlob, prefix string) int { return cmp.Compare(c.Prefix(), prefix) })
	for _, c := range u.artifacts[i:] {
		if u.limitReached() || !strings.HasPrefix(c.Prefix(), prefix) || exact && c.Prefix() != prefix {
			break
		}
		u.comparisons += 1 + strings.Count(reading.Prefix(), "/") + strings.Count(c.Prefix(), "/") // with each directory
		if reading.Overlaps(c.Glob) {
			all = append(all, c)
		}
	}
	return all
}
