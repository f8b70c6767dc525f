package glob

import (
	"slices"
	"strings"
)

// FindOverlaps calls found with the indices of each two globs that overlap, until it
// returns false. The globs are sorted by prefix. FindOverlaps gives up after limit
// comparisons.
//
// Comparing every pair of globs would take too long for thousands of instances. If two
// globs overlap, the literal prefix of one is a prefix of the other's, and the same
// holds for their suffixes. So a glob is compared only with those whose prefix begins its
// own, and they are searched by suffix.
func FindOverlaps(globs []*Glob, limit int, found func(i, j int) bool) {
	s := &search{globs: globs, limit: limit, found: found}
	s.run()
}

// search compares globs, and counts comparisons.
type search struct {
	globs       []*Glob
	limit       int
	found       func(i, j int) bool
	comparisons int
	ended       bool // found returned false
}

func (s *search) run() {
	s.compareDirectories()
	s.comparePaths()
}

func (s *search) limitReached() bool { return s.ended || s.comparisons >= s.limit }

func (s *search) report(i, j int) { s.ended = !s.found(i, j) }

// compareDirectories compares globs that name a directory with globs that have files in it.
func (s *search) compareDirectories() {
	byPath := map[string][]int{}
	var wild []int
	for i, g := range s.globs {
		switch {
		case g.parsed.literal:
			byPath[g.parsed.prefix] = append(byPath[g.parsed.prefix], i)
		case g.parsed.named:
			wild = append(wild, i)
		}
	}
	for i, g := range s.globs {
		dirs := g.parsed.directories()
		for _, dir := range dirs {
			for _, outer := range byPath[dir] {
				if !s.limitReached() && s.globs[outer].notExcluded(g) {
					s.report(outer, i)
				}
			}
		}
		for _, outer := range wild {
			if s.limitReached() || len(dirs) == 0 {
				break
			}
			s.comparisons += len(dirs)
			if s.globs[outer].contains(g) {
				s.report(outer, i)
			}
		}
	}
}

// comparePaths compares globs that may match the same path.
func (s *search) comparePaths() {
	var open []*prefixGroup // groups whose prefix is a prefix of the current one, the shortest first
	for i, g := range s.globs {
		prefix := g.Prefix()
		for len(open) > 0 && !strings.HasPrefix(prefix, open[len(open)-1].prefix) {
			open = open[:len(open)-1]
		}
		for _, group := range open {
			s.compareGroup(group, i)
		}
		if s.limitReached() {
			return
		}
		if len(open) == 0 || open[len(open)-1].prefix != prefix {
			open = append(open, &prefixGroup{prefix: prefix, exact: map[string][]int{}})
		}
		open[len(open)-1].add(g.tail, i)
	}
}

// prefixGroup holds the globs with the same prefix, indexed by suffix.
type prefixGroup struct {
	prefix  string
	exact   map[string][]int // by tail
	lengths []int            // of the tails, sorted
	sorted  []string         // the tails
}

func (g *prefixGroup) add(tail string, index int) {
	if _, ok := g.exact[tail]; !ok {
		if i, ok := slices.BinarySearch(g.lengths, len(tail)); !ok {
			g.lengths = slices.Insert(g.lengths, i, len(tail))
		}
		i, _ := slices.BinarySearch(g.sorted, tail)
		g.sorted = slices.Insert(g.sorted, i, tail)
	}
	g.exact[tail] = append(g.exact[tail], index)
}

// compareGroup compares a glob with the globs of a group that may have the same suffix.
func (s *search) compareGroup(g *prefixGroup, index int) {
	tail := s.globs[index].tail
	for _, length := range g.lengths {
		if length >= len(tail) {
			break
		}
		s.compareAll(g.exact[tail[:length]], index)
	}
	i, _ := slices.BinarySearch(g.sorted, tail)
	for ; i < len(g.sorted) && strings.HasPrefix(g.sorted[i], tail) && !s.limitReached(); i++ {
		s.compareAll(g.exact[g.sorted[i]], index)
	}
}

func (s *search) compareAll(others []int, index int) {
	for _, other := range others {
		if s.limitReached() {
			return
		}
		s.comparisons++
		if s.globs[other].sharesPath(s.globs[index]) {
			s.report(other, index)
		}
	}
}
