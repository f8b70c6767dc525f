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
	pattern string
	glob    glob
	owners  []*Workstream
	tail    string // its literal end, reversed
}

// collectClaims groups the artifacts of a phase by glob, sorted by prefix.
func collectClaims(workstreams []*Workstream) []*claim {
	byText := map[string]*claim{}
	var claims []*claim
	compiled := map[string][]*claim{}
	for _, ws := range workstreams {
		for _, pattern := range ws.Artifacts {
			list, done := compiled[pattern]
			if !done {
				for _, g := range compileGlob(pattern) {
					c := byText[g.prefix+"\x00"+pattern]
					if c == nil {
						c = &claim{pattern: pattern, glob: g, tail: reversed(g.suffix)}
						claims = append(claims, c)
						if g.literal {
							byText[g.prefix+"\x00"+pattern] = c
						}
					}
					list = append(list, c)
				}
				compiled[pattern] = list
			}
			for _, c := range list {
				if n := len(c.owners); n == 0 || c.owners[n-1] != ws {
					c.owners = append(c.owners, ws)
				}
			}
		}
	}
	slices.SortStableFunc(claims, func(a, b *claim) int { return cmp.Compare(a.glob.prefix, b.glob.prefix) })
	return claims
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
		if other.glob.overlaps(c.glob) {
			o.pair(other, c)
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
