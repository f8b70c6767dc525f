package pipeline

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// declareArtifacts evaluates the artifacts of all workstreams, before anything is
// evaluated that may read one.
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
	ws.Artifacts = b.globs(ws.def.block.artifacts, constantFrame(ws.each))
	ws.ArtifactPatterns = b.patterns(ws.def.block.artifacts, ws.Artifacts)
}

// artifactClaims are the artifacts of all workstreams.
func (b *builder) artifactClaims() []*claim {
	var all []*Workstream
	for _, def := range b.blocks {
		all = append(all, def.instances...)
	}
	return collectClaims(all)
}

// linkedClaims are the artifacts of all workstreams and what these mean behind links.
func (b *builder) linkedClaims() []*claim {
	claims := b.scope.claims()
	if b.in.Links == nil {
		return claims
	}
	return behindLinks(claims, b.in.Links)
}

// earlyRead is a call that was evaluated before anything runs.
type earlyRead struct {
	argument *argument
	call     fileCall
	reason   string // why it must be
}

// noteRead takes down what the functions of an argument read.
func (b *builder) noteRead(r *fileReads, call fileCall) {
	a := r.argument
	if slices.Contains(b.read[a], call) {
		return
	}
	b.read[a] = append(b.read[a], call)
	if reason := r.early(); reason != "" {
		b.early = append(b.early, earlyRead{a, call, reason})
	}
}

// checkReads checks that every workstream has completed at a position that makes
// what the functions of an argument read, and returns them.
func (b *builder) checkReads(a *argument, pos position) []target {
	var targets []target
	for _, call := range b.read[a] {
		for _, m := range b.scope.makersOf(call) {
			if reason := pos.reaches(m.ws.target()); reason != "" {
				b.add(hcl.Diagnostics{a.prematureRead(call, m, reason)})
				break // one is enough
			}
			targets = append(targets, m.ws.target())
		}
	}
	return targets
}

// earlyReads reports what was read before anything runs though a workstream makes
// it, once for each argument.
func (b *builder) earlyReads() {
	told := make(map[*argument]bool)
	for _, read := range b.early {
		if makers := b.scope.makersOf(read.call); len(makers) > 0 && !told[read.argument] {
			told[read.argument] = true
			b.add(hcl.Diagnostics{read.argument.prematureRead(read.call, makers[0], read.reason)})
		}
	}
}
