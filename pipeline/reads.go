package pipeline

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/files"
)

// declareArtifacts evaluates the artifacts of all workstreams. It runs before the
// builder evaluates expressions that may read an artifact.
func (b *builder) declareArtifacts() {
	for _, def := range b.blocks {
		for _, ws := range def.instances {
			b.artifacts(ws)
		}
	}
}

// artifacts evaluates the artifacts of an instance.
func (b *builder) artifacts(ws *Workstream) {
	b.current = ws
	defer func() { b.current = nil }()
	ws.Artifacts = b.evalGlobs(ws.def.block.artifacts, constantFrame(ws.each))
	ws.ArtifactPatterns = b.patterns(ws.def.block.artifacts, ws.Artifacts)
}

// allArtifacts returns the artifacts of all workstreams.
func (b *builder) allArtifacts() []*artifactGlob {
	var all []*Workstream
	for _, def := range b.blocks {
		all = append(all, def.instances...)
	}
	return collectArtifacts(all)
}

// linkedArtifacts returns the artifacts of all workstreams, and the files that they match
// through links.
func (b *builder) linkedArtifacts() []*artifactGlob {
	artifacts := b.scope.artifacts()
	if b.in.Links == nil {
		return artifacts
	}
	return behindLinks(artifacts, b.in.Links)
}

// earlyRead is a call in an argument that is evaluated before anything runs.
type earlyRead struct {
	argument *argument
	call     files.Call
	reason   string // why it can't be evaluated later
}

// noteRead records a call of a function that reads files.
func (b *builder) noteRead(r *fileReads, call files.Call) {
	a := r.argument
	if slices.Contains(b.read[a], call) {
		return
	}
	b.read[a] = append(b.read[a], call)
	if reason := r.whyTooEarly(); reason != "" {
		b.early = append(b.early, earlyRead{a, call, reason})
	}
}

// checkReads checks the artifacts that the functions of an argument read: the
// workstreams that make them must be certain to have completed at a position. It returns
// these workstreams.
func (b *builder) checkReads(a *argument, pos position) []target {
	var targets []target
	for _, call := range b.read[a] {
		makers := b.scope.makersOf(call)
		made := make([]target, len(makers))
		for i, m := range makers {
			made[i] = m.ws.target()
		}
		walk := pos.walkTo(made...)
		for i, m := range makers {
			if reason := pos.reachesOn(walk, made[i]); reason != "" {
				b.addDiagnostics(hcl.Diagnostics{a.prematureRead(call, m, reason)})
				break // one error is enough
			}
			targets = append(targets, made[i])
		}
	}
	return targets
}

// earlyReads reports calls that read an artifact but are evaluated before anything runs,
// one for each argument.
func (b *builder) earlyReads() {
	told := make(map[*argument]bool)
	for _, read := range b.early {
		if makers := b.scope.makersOf(read.call); len(makers) > 0 && !told[read.argument] {
			told[read.argument] = true
			b.addDiagnostics(hcl.Diagnostics{read.argument.prematureRead(read.call, makers[0], read.reason)})
		}
	}
}
