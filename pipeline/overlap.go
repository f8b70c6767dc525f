package pipeline

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// maxOverlaps is the largest number of overlaps that are reported for a phase.
	maxOverlaps = 20
	// maxComparisons is the largest number of pairs of globs that are compared for a
	// phase. Only thousands of globs with the same beginning and end reach it, if their
	// workstreams all wait for each other.
	maxComparisons = 1_000_000
)

// overlaps reports artifacts that two workstreams of a phase may write at the same time.
//
// Comparing every pair of globs would take too long for thousands of instances. If two
// globs overlap, the literal prefix of one is a prefix of the other's, and the same
// holds for their suffixes. So the globs are sorted by prefix, and those with the same
// prefix are searched by suffix.
func (b *builder) overlaps(def *phaseDef) {
	claims := collectClaims(def.phase.Workstreams)
	o := &overlapSearch{b: b}
	for _, c := range claims {
		if !o.done() {
			o.pair(c, c)
		}
	}
	o.below(claims)
	var open []*claimGroup // groups whose prefix is a prefix of the current one, the shortest first
	for _, c := range claims {
		for len(open) > 0 && !strings.HasPrefix(c.glob.prefix, open[len(open)-1].prefix) {
			open = open[:len(open)-1]
		}
		for _, group := range open {
			group.candidates(c, o)
		}
		if o.done() {
			return
		}
		if len(open) == 0 || open[len(open)-1].prefix != c.glob.prefix {
			open = append(open, &claimGroup{prefix: c.glob.prefix, exact: map[string][]*claim{}})
		}
		open[len(open)-1].add(c)
	}
}

// claim is a glob of artifacts, with all workstreams that declare it.
type claim struct {
	pattern  string
	glob     glob
	excluded []string // patterns of the files that the list excludes
	owners   []*Workstream
	tail     string // its literal end, reversed
	dirs     []glob // the directories in its literal prefix
}

// newClaim returns a claim. It parses the directories once, because a claim is compared
// with many others.
func newClaim(pattern string, g glob, excluded []string) *claim {
	c := &claim{pattern: pattern, glob: g, excluded: excluded, tail: reversed(g.suffix)}
	for _, dir := range g.directories() {
		c.dirs = append(c.dirs, newGlob(dir))
	}
	return c
}

// collectClaims groups the artifacts of workstreams by glob, sorted by prefix.
func collectClaims(workstreams []*Workstream) []*claim {
	var claims []*claim
	compiled := map[string][]*claim{}
	for _, ws := range workstreams {
		for i, pattern := range ws.Artifacts {
			if isExclusion(pattern) {
				continue
			}
			excluded := exclusions(ws.Artifacts[i+1:])
			key := strings.Join(append([]string{pattern}, excluded...), except)
			list, done := compiled[key]
			if !done {
				list = compileClaims(pattern, key)
				claims = append(claims, list...)
				compiled[key] = list
			}
			for _, c := range list {
				if n := len(c.owners); n == 0 || c.owners[n-1] != ws {
					c.owners = append(c.owners, ws)
				}
			}
		}
	}
	sortClaims(claims)
	return claims
}

func sortClaims(claims []*claim) {
	slices.SortStableFunc(claims, func(a, b *claim) int { return cmp.Compare(a.glob.prefix, b.glob.prefix) })
}

// compileClaims returns the claims of a pattern, which may have exclusions: one for each
// alternative of its braces. Declared is the glob in the file.
func compileClaims(declared, pattern string) []*claim {
	texts := strings.Split(pattern, except)
	var claims []*claim
	for _, g := range compileGlob(texts[0]) {
		claims = append(claims, newClaim(declared, g, texts[1:]))
	}
	return claims
}

// behindLinks returns the claims, and claims for the files that they match through
// links. The latter have the globs of the file as their patterns.
func behindLinks(claims []*claim, links Links) []*claim {
	all := slices.Clone(claims)
	done := map[string]bool{} // the claims of one glob have the same owners
	for _, c := range claims {
		for _, glob := range withDirectory(c.pattern) {
			pattern := strings.Join(append([]string{glob}, c.excluded...), except)
			if done[pattern] {
				continue
			}
			done[pattern] = true
			for _, behind := range links.Behind(pattern) {
				for _, linked := range compileClaims(c.pattern, behind) {
					linked.owners = c.owners
					all = append(all, linked)
				}
			}
		}
	}
	sortClaims(all)
	return all
}

// overlaps reports whether there certainly is a path that both claims match. A claim
// that names a directory does not match the files in it here; contains compares these.
func (c *claim) overlaps(other *claim) bool { return c.glob.overlaps(other.glob) && c.exceptNot(other) }

// contains reports whether a claim names a directory in which the other claim has files.
func (c *claim) contains(other *claim) bool {
	if !c.glob.named || !c.exceptNot(other) {
		return false
	}
	return slices.ContainsFunc(other.dirs, c.glob.overlaps)
}

// exceptNot reports whether no exclusion of the two claims covers everything that one of
// them matches.
func (c *claim) exceptNot(other *claim) bool {
	for _, excluded := range [][]string{c.excluded, other.excluded} {
		for _, pattern := range excluded {
			if matchesPattern(pattern, c.glob.example()) || matchesPattern(pattern, other.glob.example()) {
				return false
			}
		}
	}
	return true
}

// claimGroup holds the claims with the same prefix, indexed by suffix.
type claimGroup struct {
	prefix  string
	exact   map[string][]*claim // by tail
	lengths []int               // of the tails, sorted
	sorted  []string            // the tails
}

func (g *claimGroup) add(c *claim) {
	if _, ok := g.exact[c.tail]; !ok {
		if i, ok := slices.BinarySearch(g.lengths, len(c.tail)); !ok {
			g.lengths = slices.Insert(g.lengths, i, len(c.tail))
		}
		i, _ := slices.BinarySearch(g.sorted, c.tail)
		g.sorted = slices.Insert(g.sorted, i, c.tail)
	}
	g.exact[c.tail] = append(g.exact[c.tail], c)
}

// candidates compares a claim with the claims of the group that may have the same
// suffix.
func (g *claimGroup) candidates(c *claim, o *overlapSearch) {
	for _, length := range g.lengths {
		if length >= len(c.tail) {
			break
		}
		o.all(g.exact[c.tail[:length]], c)
	}
	i, _ := slices.BinarySearch(g.sorted, c.tail)
	for ; i < len(g.sorted) && strings.HasPrefix(g.sorted[i], c.tail) && !o.done(); i++ {
		o.all(g.exact[g.sorted[i]], c)
	}
}

// overlapSearch compares claims, and counts comparisons and overlaps.
type overlapSearch struct {
	b           *builder
	comparisons int
	found       int
}

func (o *overlapSearch) done() bool { return o.found >= maxOverlaps || o.comparisons >= maxComparisons }

func (o *overlapSearch) all(claims []*claim, c *claim) {
	for _, other := range claims {
		if o.done() {
			return
		}
		o.comparisons++
		if other.overlaps(c) {
			o.pair(other, c)
		}
	}
}

// below compares claims that name a directory with claims that have files in it.
func (o *overlapSearch) below(claims []*claim) {
	byPath := map[string][]*claim{}
	var wild []*claim
	for _, c := range claims {
		switch {
		case c.glob.literal:
			byPath[c.glob.prefix] = append(byPath[c.glob.prefix], c)
		case c.glob.named:
			wild = append(wild, c)
		}
	}
	for _, c := range claims {
		dirs := c.glob.directories()
		for _, dir := range dirs {
			for _, outer := range byPath[dir] {
				if !o.done() && outer.exceptNot(c) {
					o.pair(outer, c)
				}
			}
		}
		for _, outer := range wild {
			if o.done() || len(dirs) == 0 {
				break
			}
			o.comparisons += len(dirs)
			if outer.contains(c) {
				o.pair(outer, c)
			}
		}
	}
}

// pair reports two owners of overlapping claims that may run at the same time. All
// owners overlap, so it compares only neighbours in the order of batches: if each waits
// for the one before it, all do.
func (o *overlapSearch) pair(a, c *claim) {
	owners := a.owners
	if a != c {
		owners = slices.Concat(a.owners, c.owners)
		slices.SortStableFunc(owners, func(x, y *Workstream) int { return cmp.Compare(x.Batch, y.Batch) })
	} else if len(owners) > 1 {
		owners = slices.Clone(owners)
		slices.SortStableFunc(owners, func(x, y *Workstream) int { return cmp.Compare(x.Batch, y.Batch) })
	}
	for i := 1; i < len(owners); i++ {
		first, second := owners[i-1], owners[i]
		if first == second || second.after(first.target()) {
			continue
		}
		o.found++
		patterns := "both have " + quoted(c.pattern)
		if a.pattern != c.pattern {
			patterns = quoted(a.pattern) + " and " + quoted(c.pattern) + " can match the same file"
		}
		hint := "Add one to depends_on of the other, or let them write to different places."
		if first.def == second.def {
			hint = "Put ${each.key} into the path."
		}
		o.b.errorf("Overlapping artifacts", second.def.block.artifacts.rng(), "%s and %s may run at the same time, but %s among their artifacts. %s", first.Name, second.Name, patterns, hint)
		return
	}
}

func quoted(text string) string { return `"` + text + `"` }

// target returns the workstream as a target of dependencies.
func (w *Workstream) target() target {
	if w.def.forEach {
		return target{def: w.def, instance: w}
	}
	return target{def: w.def}
}
