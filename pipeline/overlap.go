package pipeline

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// maxOverlaps bounds how many overlaps of one phase are reported.
	maxOverlaps = 20
	// maxComparisons bounds how many pairs of globs of one phase are compared.
	// It is reached only by thousands of globs that begin and end alike and
	// whose workstreams all wait for each other.
	maxComparisons = 1_000_000
)

// overlaps reports artifacts that two workstreams of a phase claim, which may
// run at the same time: what one leaves behind, the other would overwrite.
//
// Comparing every glob with every other would take too long for thousands of
// instances. Two globs can only overlap if the literal beginning of one begins
// that of the other, and likewise for their ends; so they are sorted by their
// beginnings, and those with the same one are searched by their ends.
func (b *builder) overlaps(def *phaseDef) {
	claims := collectClaims(def.phase.Workstreams)
	o := &overlapSearch{b: b}
	for _, c := range claims {
		if !o.done() {
			o.pair(c, c)
		}
	}
	o.below(claims)
	var open []*claimGroup // those whose prefix begins the current one, outermost first
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

// claim is one glob with all workstreams whose artifacts it describes.
type claim struct {
	pattern  string
	glob     glob
	excluded []string // patterns of what it does not describe after all
	owners   []*Workstream
	tail     string // its literal end, reversed
	dirs     []glob // the directories that it names on the way to what it matches
}

// newClaim parses the directories of a glob once, since a claim is compared with many.
func newClaim(pattern string, g glob, excluded []string) *claim {
	c := &claim{pattern: pattern, glob: g, excluded: excluded, tail: reversed(g.suffix)}
	for _, dir := range g.directories() {
		c.dirs = append(c.dirs, newGlob(dir))
	}
	return c
}

// collectClaims groups the artifacts of a phase by glob, sorted by prefix.
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

// compileClaims are the claims of a pattern, which may come with exclusions, one for
// each alternative of its braces. They are declared by a glob.
func compileClaims(declared, pattern string) []*claim {
	texts := strings.Split(pattern, except)
	var claims []*claim
	for _, g := range compileGlob(texts[0]) {
		claims = append(claims, newClaim(declared, g, texts[1:]))
	}
	return claims
}

// behindLinks adds to claims what they mean behind links, under the globs that are declared.
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

// overlaps reports whether there is certainly a path that both describe, as far as
// neither means what is in a directory that it names.
func (c *claim) overlaps(other *claim) bool { return c.glob.overlaps(other.glob) && c.exceptNot(other) }

// contains reports whether a claim names a directory that the other one lies in.
func (c *claim) contains(other *claim) bool {
	if !c.glob.named || !c.exceptNot(other) {
		return false
	}
	return slices.ContainsFunc(other.dirs, c.glob.overlaps)
}

// exceptNot reports whether neither of two claims excludes all that the other
// describes, or that it describes itself.
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

// claimGroup holds the claims with one prefix, to be found by their ends.
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

// candidates compares a claim with those of the group whose end fits.
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

// overlapSearch compares claims and counts what it found.
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

// below compares claims that name a directory, as far as their text tells, with those
// to what is in it.
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

// pair reports two owners of overlapping claims that may run at the same time.
// All owners overlap each other, so it is enough to compare neighbours in the
// order of their batches: if each waits for the one before it, all do.
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

// target is the workstream as something that others can wait for.
func (w *Workstream) target() target {
	if w.def.forEach {
		return target{def: w.def, instance: w}
	}
	return target{def: w.def}
}
