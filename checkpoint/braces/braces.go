// Package braces writes out the alternatives in the braces of globs, as in "src/{a,b}.go".
// Expand serves the globs of pipelines and those with which the workspace is searched, so
// that both mean the same. The package knows neither pipelines
// nor checkpoints; that is why both may import it. Matching itself is doublestar's.
package braces

import "strings"

// Expand returns the globs that a valid glob stands for, in order. It expands nested
// braces, too. It returns false if there are more globs than the limit.
func Expand(glob string, limit int) ([]string, bool) {
	return expand(nil, glob, limit, func(string) bool { return true })
}

// ExpandSlashes is Expand for outermost braces with a slash in them. It keeps the others,
// so the results can be split at their slashes.
func ExpandSlashes(glob string, limit int) ([]string, bool) {
	return expand(nil, glob, limit, func(inner string) bool { return strings.Contains(inner, "/") })
}

// expand appends the globs that a glob stands for. It expands the first outermost braces
// for which want returns true, and then the results.
func expand(all []string, glob string, limit int, want func(inner string) bool) ([]string, bool) {
	depth := 0
	var cuts []int // the opening brace and the commas of the present outermost braces
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '\\':
			i++
		case c == '[':
			i = endOfClass(glob, i)
		case c == '{':
			if depth++; depth == 1 {
				cuts = []int{i}
			}
		case c == ',' && depth == 1:
			cuts = append(cuts, i)
		case c == '}' && depth > 0:
			if depth--; depth == 0 && want(glob[cuts[0]+1:i]) {
				return expandAt(all, glob, append(cuts, i), limit, want)
			}
		}
	}
	if len(all) >= limit {
		return nil, false
	}
	return append(all, glob), true
}

// expandAt replaces braces with each of their alternatives. Cuts are the offsets of the
// opening brace, the commas and the closing brace.
func expandAt(all []string, glob string, cuts []int, limit int, want func(string) bool) ([]string, bool) {
	open, end := cuts[0], cuts[len(cuts)-1]
	var ok bool
	for i, cut := range cuts[1:] {
		if all, ok = expand(all, glob[:open]+glob[cuts[i]+1:cut]+glob[end+1:], limit, want); !ok {
			return nil, false
		}
	}
	return all, true
}

// endOfClass returns the offset of the end of the character class that begins at i, or i
// if the class has no end.
func endOfClass(glob string, i int) int {
	for j := i + 1; j < len(glob); j++ {
		switch glob[j] {
		case '\\':
			j++
		case ']':
			return j
		}
	}
	return i
}
