package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
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
	scope    bool // it belongs to the scope of a protect block
	pattern  string
	glob     glob
	excluded []string // patterns of the files that the list excludes
	owners   []*Workstream
	tail     string // its literal end, reversed
	dirs     []glob // the directories in its literal prefix
}

// newArtifactGlob returns an artifact glob. It parses the directories once, because an
// artifact glob is compared with many others.
func newArtifactGlob(pattern string, g glob, excluded []string) *artifactGlob {
	c := &artifactGlob{pattern: pattern, glob: g, excluded: excluded, tail: reversed(g.suffix)}
	for _, dir := range g.directories() {
		c.dirs = append(c.dirs, newGlob(dir))
	}
	return c
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
		excluded := exclusions(globs[i+1:])
		key := strings.Join(append([]string{globs[i]}, excluded...), except)
		list, done := compiled[key]
		if !done {
			list = compileArtifact(globs[i], key)
			all = append(all, list...)
			compiled[key] = list
		}
		for _, c := range list {
			if n := len(c.owners); n == 0 || c.owners[n-1] != ws {
				c.owners = append(c.owners, ws)
			}
		}
	}
	for _, ws := range workstreams {
		for _, globs := range listsOf(ws) {
			for i, pattern := range globs {
				if !isExclusion(pattern) {
					add(ws, globs, i)
				}
			}
		}
	}
	sortByPrefix(all)
	return all
}

func sortByPrefix(artifacts []*artifactGlob) {
	slices.SortStableFunc(artifacts, func(a, b *artifactGlob) int { return cmp.Compare(a.glob.prefix, b.glob.prefix) })
}

// compileArtifact returns the artifact globs of a pattern, which may have exclusions:
// one for each alternative of its braces. Declared is the glob in the file.
func compileArtifact(declared, pattern string) []*artifactGlob {
	texts := strings.Split(pattern, except)
	var artifacts []*artifactGlob
	for _, g := range compileGlob(texts[0]) {
		artifacts = append(artifacts, newArtifactGlob(declared, g, texts[1:]))
	}
	return artifacts
}

// behindLinks returns the artifact globs, and artifact globs for the files that they
// match through links. The latter have the globs of the file as their patterns.
func behindLinks(artifacts []*artifactGlob, links Links) []*artifactGlob {
	all := slices.Clone(artifacts)
	done := map[string]bool{} // the artifact globs of one glob have the same owners
	for _, c := range artifacts {
		for _, glob := range withDirectory(c.pattern) {
			pattern := strings.Join(append([]string{glob}, c.excluded...), except)
			if done[pattern] {
				continue
			}
			done[pattern] = true
			for _, behind := range links.Behind(pattern) {
				for _, linked := range compileArtifact(c.pattern, behind) {
					linked.owners = c.owners
					all = append(all, linked)
				}
			}
		}
	}
	sortByPrefix(all)
	return all
}

// overlaps reports whether there certainly is a path that both artifact globs match. An
// artifact glob that names a directory does not match the files in it here; contains
// compares these.
func (c *artifactGlob) overlaps(other *artifactGlob) bool {
	return c.glob.overlaps(other.glob) && c.notExcluded(other)
}

// contains reports whether an artifact glob names a directory in which the other
// artifact glob has files.
func (c *artifactGlob) contains(other *artifactGlob) bool {
	if !c.glob.named || !c.notExcluded(other) {
		return false
	}
	return slices.ContainsFunc(other.dirs, c.glob.overlaps)
}

// notExcluded reports whether each of two globs still matches files once the exclusions of both
// are applied. It tries the exclusions on one example path of each glob: if an exclusion matches
// the example, notExcluded assumes that it excludes all files of that glob.
func (c *artifactGlob) notExcluded(other *artifactGlob) bool {
	for _, excluded := range [][]string{c.excluded, other.excluded} {
		for _, pattern := range excluded {
			if matchesPattern(pattern, c.glob.example()) || matchesPattern(pattern, other.glob.example()) {
				return false
			}
		}
	}
	return true
}

// prefixGroup holds the artifact globs with the same prefix, indexed by suffix.
type prefixGroup struct {
	prefix  string
	exact   map[string][]*artifactGlob // by tail
	lengths []int                      // of the tails, sorted
	sorted  []string                   // the tails
}

func (g *prefixGroup) add(c *artifactGlob) {
	if _, ok := g.exact[c.tail]; !ok {
		if i, ok := slices.BinarySearch(g.lengths, len(c.tail)); !ok {
			g.lengths = slices.Insert(g.lengths, i, len(c.tail))
		}
		i, _ := slices.BinarySearch(g.sorted, c.tail)
		g.sorted = slices.Insert(g.sorted, i, c.tail)
	}
	g.exact[c.tail] = append(g.exact[c.tail], c)
}

// candidates compares an artifact glob with the artifact globs of the group that may
// have the same suffix.
func (g *prefixGroup) candidates(c *artifactGlob, o *overlapSearch) {
	for _, length := range g.lengths {
		if length >= len(c.tail) {
			break
		}
		o.compareAll(g.exact[c.tail[:length]], c)
	}
	i, _ := slices.BinarySearch(g.sorted, c.tail)
	for ; i < len(g.sorted) && strings.HasPrefix(g.sorted[i], c.tail) && !o.limitReached(); i++ {
		o.compareAll(g.exact[g.sorted[i]], c)
	}
}

// overlapSearch compares artifact globs, and counts comparisons and overlaps.
type overlapSearch struct {
	b           *builder
	comparisons int
	found       int
}

// search reports the artifact globs that overlap. The globs are sorted by prefix.
//
// Comparing every pair of globs would take too long for thousands of instances. If two
// globs overlap, the literal prefix of one is a prefix of the other's, and the same
// holds for their suffixes. So a glob is compared only with those whose prefix begins its
// own, and they are searched by suffix.
func (o *overlapSearch) search(artifacts []*artifactGlob) {
	for _, c := range artifacts {
		if !o.limitReached() {
			o.reportPair(c, c)
		}
	}
	o.compareDirectories(artifacts)
	var open []*prefixGroup // groups whose prefix is a prefix of the current one, the shortest first
	for _, c := range artifacts {
		for len(open) > 0 && !strings.HasPrefix(c.glob.prefix, open[len(open)-1].prefix) {
			open = open[:len(open)-1]
		}
		for _, group := range open {
			group.candidates(c, o)
		}
		if o.limitReached() {
			return
		}
		if len(open) == 0 || open[len(open)-1].prefix != c.glob.prefix {
			open = append(open, &prefixGroup{prefix: c.glob.prefix, exact: map[string][]*artifactGlob{}})
		}
		open[len(open)-1].add(c)
	}
}

func (o *overlapSearch) limitReached() bool {
	return o.found >= maxOverlaps || o.comparisons >= maxComparisons
}

func (o *overlapSearch) compareAll(artifacts []*artifactGlob, c *artifactGlob) {
	for _, other := range artifacts {
		if o.limitReached() {
			return
		}
		o.comparisons++
		if other.overlaps(c) {
			o.reportPair(other, c)
		}
	}
}

// compareDirectories compares artifact globs that name a directory with artifact globs
// that have files in it.
func (o *overlapSearch) compareDirectories(artifacts []*artifactGlob) {
	byPath := map[string][]*artifactGlob{}
	var wild []*artifactGlob
	for _, c := range artifacts {
		switch {
		case c.glob.literal:
			byPath[c.glob.prefix] = append(byPath[c.glob.prefix], c)
		case c.glob.named:
			wild = append(wild, c)
		}
	}
	for _, c := range artifacts {
		dirs := c.glob.directories()
		for _, dir := range dirs {
			for _, outer := range byPath[dir] {
				if !o.limitReached() && outer.notExcluded(c) {
					o.reportPair(outer, c)
				}
			}
		}
		for _, outer := range wild {
			if o.limitReached() || len(dirs) == 0 {
				break
			}
			o.comparisons += len(dirs)
			if outer.contains(c) {
				o.reportPair(outer, c)
			}
		}
	}
}

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
	patterns := "both have " + quoted(c.pattern)
	if a.pattern != c.pattern {
		patterns = quoted(a.pattern) + " and " + quoted(c.pattern) + " can match the same file"
	}
	o.b.errorf("Overlapping artifacts", second.ws.placeOfArtifacts(globs[second.side].pattern), "%s and %s may run at the same time, but %s among their artifacts. %s", first.ws.Name, second.ws.Name, patterns, hint)
}

// placeOfArtifacts returns the place that gives a workstream a glob among its artifacts: its
// list of artifacts, or the call of the pipeline that has it.
func (w *Workstream) placeOfArtifacts(glob string) hcl.Range {
	if call := w.def.block.process.call; call != nil && !slices.Contains(w.Artifacts, glob) {
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
