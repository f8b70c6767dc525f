package pipeline

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/files"
	"prdrunner/pipeline/glob"
)

const (
	// maxOverlaps is the largest number of overlaps that are reported for a phase.
	maxOverlaps = 20
	// maxComparisons is the largest number of pairs of globs that are compared for a
	// phase. Only thousands of globs with the same beginning and end reach it, if their
	// workstreams all wait for each other. For inputs, the dependencies between the two
	// workstreams count as well.
	maxComparisons = 1_000_000
)

// overlaps reports files that two workstreams of a phase may write at the same time, or that
// one may write and another may take back.
func (b *builder) overlaps(def *phaseDef) {
	globs := append(collectWritten(def.phase.Workstreams), collectScopes(def.phase.Workstreams)...)
	sortByPrefix(globs)
	o := &overlapSearch{b: b}
	o.search(globs)
}

// artifactGlob is a glob of artifacts or of the scope of a protect block, with all
// workstreams that declare it.
type artifactGlob struct {
	*glob.Glob
	scope    bool   // it belongs to the scope of a protect block
	declared string // the glob in the file
	pattern  string // with the exclusions of its list
	owners   []*Workstream
}

// collectArtifacts groups the artifacts of workstreams by glob, sorted by prefix.
func collectArtifacts(workstreams []*Workstream) []*artifactGlob {
	return collectGlobs(workstreams, func(ws *Workstream) [][]string { return [][]string{ws.Artifacts} })
}

// collectWritten does the same with the artifacts of workstreams and of the pipelines that they
// call.
func collectWritten(workstreams []*Workstream) []*artifactGlob {
	return collectGlobs(workstreams, func(ws *Workstream) [][]string {
		return append([][]string{ws.Artifacts}, ws.calledArtifacts...)
	})
}

// collectScopes does the same with the scopes of protect blocks.
func collectScopes(workstreams []*Workstream) []*artifactGlob {
	scopes := collectGlobs(workstreams, func(ws *Workstream) [][]string {
		if ws.Protect == nil {
			return nil
		}
		return [][]string{ws.Protect.Scope}
	})
	for _, c := range scopes {
		c.scope = true
	}
	return scopes
}

// collectGlobs groups lists of globs of workstreams by glob, sorted by prefix.
func collectGlobs(workstreams []*Workstream, listsOf func(*Workstream) [][]string) []*artifactGlob {
	var all []*artifactGlob
	compiled := map[string][]*artifactGlob{}
	add := func(ws *Workstream, globs []string, i int) {
		pattern := glob.WithExclusions(globs, i)
		list, done := compiled[pattern]
		if !done {
			list = compileArtifact(globs[i], pattern)
			all = append(all, list...)
			compiled[pattern] = list
		}
		for _, c := range list {
			if n := len(c.owners); n == 0 || c.owners[n-1] != ws {
				c.owners = append(c.owners, ws)
			}
		}
	}
	for _, ws := range workstreams {
		for _, globs := range listsOf(ws) {
			for i, text := range globs {
				if !glob.IsExclusion(text) {
					add(ws, globs, i)
				}
			}
		}
	}
	sortByPrefix(all)
	return all
}

func sortByPrefix(artifacts []*artifactGlob) {
	slices.SortStableFunc(artifacts, func(a, b *artifactGlob) int { return cmp.Compare(a.Prefix(), b.Prefix()) })
}

// compileArtifact returns the artifact globs of a pattern: one for each alternative of its
// braces. Declared is the glob in the file.
func compileArtifact(declared, pattern string) []*artifactGlob {
	var artifacts []*artifactGlob
	for _, g := range glob.Compile(pattern) {
		artifacts = append(artifacts, &artifactGlob{Glob: g, declared: declared, pattern: pattern})
	}
	return artifacts
}

// behindLinks returns the artifact globs, and artifact globs for the files that they
// match through links. The latter are declared by the globs of the file.
func behindLinks(artifacts []*artifactGlob, links files.Links) []*artifactGlob {
	all := slices.Clone(artifacts)
	done := map[string]bool{} // the artifact globs of one glob have the same owners
	for _, c := range artifacts {
		for _, pattern := range glob.WithDirectory(c.pattern) {
			if done[pattern] {
				continue
			}
			done[pattern] = true
			for _, behind := range links.Behind(pattern) {
				for _, linked := range compileArtifact(c.declared, behind) {
					linked.owners = c.owners
					all = append(all, linked)
				}
			}
		}
	}
	sortByPrefix(all)
	return all
}

// overlapSearch reports artifact globs that overlap, and counts them.
type overlapSearch struct {
	b     *builder
	found int
}

// search reports the artifact globs that overlap. The globs are sorted by prefix.
func (o *overlapSearch) search(artifacts []*artifactGlob) {
	globs := make([]*glob.Glob, len(artifacts))
	for i, c := range artifacts {
		globs[i] = c.Glob
		if !o.limitReached() {
			o.reportPair(c, c)
		}
	}
	if o.limitReached() {
		return
	}
	glob.FindOverlaps(globs, maxComparisons, func(i, j int) bool {
		o.reportPair(artifacts[i], artifacts[j])
		return !o.limitReached()
	})
}

func (o *overlapSearch) limitReached() bool { return o.found >= maxOverlaps }

// reportPair reports two owners of overlapping artifact globs that may run at the same
// time.
func (o *overlapSearch) reportPair(a, c *artifactGlob) {
	if a == c && len(a.owners) == 1 {
		return
	}
	claims := make([]claim, 0, len(a.owners)+len(c.owners))
	for _, ws := range a.owners {
		claims = append(claims, claim{ws: ws})
	}
	if a != c {
		for _, ws := range c.owners {
			claims = append(claims, claim{ws: ws, side: 1})
		}
	}
	first, second, found := together(claims, a != c)
	if !found {
		return
	}
	o.found++
	hint := "Add one to depends_on of the other, or let them write to different places."
	switch {
	case first.ws.Calls != "" || second.ws.Calls != "":
		hint = "Add one to depends_on of the other, or give the called pipeline a variable that is part of the path."
	case first.ws.def == second.ws.def:
		hint = "Put ${each.key} into the path."
	}
	globs := [2]*artifactGlob{a, c}
	if a.scope || c.scope {
		o.reportScope(first.ws, globs[first.side], second.ws, globs[second.side], hint)
		return
	}
	patterns := "both have " + quoted(c.declared)
	if a.declared != c.declared {
		patterns = quoted(a.declared) + " and " + quoted(c.declared) + " can match the same file"
	}
	o.b.errorf("Overlapping artifacts", second.ws.placeOfArtifacts(globs[second.side].declared), "%s and %s may run at the same time, but %s among their artifacts. %s", first.ws.Name, second.ws.Name, patterns, hint)
}

// placeOfArtifacts returns the place that gives a workstream a declared glob among its artifacts: its
// list of artifacts, or the call of the pipeline that has it.
func (w *Workstream) placeOfArtifacts(declared string) hcl.Range {
	if call := w.def.block.process.call; call != nil && !slices.Contains(w.Artifacts, declared) {
		return call.block.DefRange()
	}
	return w.def.block.artifacts.exprRange()
}

// reportScope reports that x or y, which may run at the same time, protects files that the
// other one may write.
func (o *overlapSearch) reportScope(x *Workstream, ofX *artifactGlob, y *Workstream, ofY *artifactGlob, hint string) {
	if !ofY.scope {
		x, ofX, y, ofY = y, ofY, x, ofX
	}
	kind := "among the artifacts"
	if ofX.scope {
		kind = "in the scope"
	}
	o.b.errorf("Overlapping protection", y.def.block.protect.scope.exprRange(),
		"%s and %s may run at the same time, but %q %s of %s and %q in the scope of %s can match the same file, so a rollback of one takes back what the other did. %s",
		x.Name, y.Name, ofX.pattern, kind, x.Name, ofY.pattern, y.Name, hint)
}

func quoted(text string) string { return `"` + text + `"` }

// target returns the workstream as a target of dependencies.
func (w *Workstream) target() target {
	if w.def.forEach {
		return target{def: w.def, instance: w}
	}
	return target{def: w.def}
}
