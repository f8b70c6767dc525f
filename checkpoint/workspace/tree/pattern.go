package tree

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/checkpoint/braces"
)

// maxAlternatives bounds what a pattern with braces may stand for.
const maxAlternatives = 1024

// meta are the characters that mean something else in a glob than in a path.
const meta = `*?[{\`

// Except separates, in a pattern, the glob that it begins with from those of the
// files that it does not match after all: "src/**\x00src/gen/**" matches what is
// below src and not below src/gen. No glob holds it.
const Except = "\x00"

// pattern is a glob, in the elements between its slashes, so that a walk can
// tell which directories may hold matches.
type pattern struct {
	base     string     // the elements before the first that matches more than one name
	elements []string   // the rest; none if the pattern names one file
	except   *exclusion // nil: nothing
}

// parsePatterns parses globs with their exclusions. Braces that hold slashes are
// written out.
func parsePatterns(patterns []string) ([]pattern, error) {
	parsed := make([]pattern, 0, len(patterns))
	known := map[string]*exclusion{} // many patterns have the same
	for _, text := range patterns {
		glob, excluded, _ := strings.Cut(text, Except)
		except := known[excluded]
		if excluded != "" && except == nil {
			all, err := parseGlobs(nil, strings.Split(excluded, Except), nil)
			if err != nil {
				return nil, err
			}
			except = newExclusion(all)
			known[excluded] = except
		}
		var err error
		if parsed, err = parseGlobs(parsed, []string{glob}, except); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

func parseGlobs(parsed []pattern, globs []string, except *exclusion) ([]pattern, error) {
	for _, glob := range globs {
		if !doublestar.ValidatePattern(glob) {
			return nil, fmt.Errorf("match %q: %w", glob, doublestar.ErrBadPattern)
		}
		alternatives, ok := braces.ExpandSlashes(glob, maxAlternatives)
		if !ok {
			return nil, fmt.Errorf("match %q: its braces stand for more than %d patterns", glob, maxAlternatives)
		}
		for _, glob := range alternatives {
			glob = path.Clean(glob)
			if !filepath.IsLocal(glob) {
				return nil, fmt.Errorf("match %q: it leads outside the workspace", glob)
			}
			p := parsePattern(glob)
			p.except = except
			parsed = append(parsed, p)
		}
	}
	return parsed, nil
}

func parsePattern(glob string) pattern {
	elements := strings.Split(glob, "/")
	first := slices.IndexFunc(elements, func(e string) bool { return strings.ContainsAny(e, meta) })
	if first < 0 {
		return pattern{base: glob}
	}
	return pattern{base: strings.Join(elements[:first], "/"), elements: elements[first:]}
}

// state is a place in a pattern: the elements from at on are to be matched
// with what is below a directory.
type state struct {
	elements []string
	except   *exclusion
}

// step returns the states in a directory of the given path, from those in the
// directory above. None means that nothing below it matches.
func step(states []state, path string) []state {
	name := Base(path)
	var next []state
	for _, s := range states {
		switch e := s.elements[0]; {
		case s.except.allBelow(path):
		case e == "**":
			next = append(next, s)
		case len(s.elements) > 1 && doublestar.MatchUnvalidated(e, name):
			next = append(next, state{s.elements[1:], s.except})
		}
	}
	return closure(next)
}

// closure adds the states that are reached by a ** that stands for nothing.
func closure(states []state) []state {
	for i := 0; i < len(states); i++ {
		if s := states[i]; s.elements[0] == "**" && len(s.elements) > 1 {
			states = append(states, state{s.elements[1:], s.except})
		}
	}
	return states
}

// accepts reports whether a file of the given path, in the directory of the
// states, matches.
func accepts(states []state, path string) bool {
	name := Base(path)
	return slices.ContainsFunc(states, func(s state) bool {
		return len(s.elements) == 1 && (s.elements[0] == "**" || doublestar.MatchUnvalidated(s.elements[0], name)) && !s.except.holds(path)
	})
}
