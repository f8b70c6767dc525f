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

// maxAlternatives bounds the number of patterns that the braces in a pattern expand to.
const maxAlternatives = 1024

// meta are the characters with a special meaning in a glob.
const meta = `*?[{\`

// Except separates the globs of a pattern: the first one matches files, and the others
// exclude some of these. "src/**\x00src/gen/**" matches the files below src but not those
// below src/gen. No glob contains it.
const Except = "\x00"

// pattern is a glob, split at its slashes, so that a walk can skip directories without
// matches.
type pattern struct {
	base     string     // the elements before the first with a special character
	elements []string   // the other elements; none if the pattern names one file
	except   *exclusion // nil: excludes nothing
}

// parsePatterns parses globs with their exclusions. It expands braces that contain
// slashes.
func parsePatterns(patterns []string) ([]pattern, error) {
	parsed := make([]pattern, 0, len(patterns))
	known := map[string]*exclusion{} // patterns share their exclusions
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

// state is a position in a pattern during a walk: elements must match the path of a file
// relative to the current directory.
type state struct {
	elements []string
	except   *exclusion
}

// advance returns the states in the directory path, from those in its parent directory.
// If it returns none, nothing below path matches.
func advance(states []state, path string) []state {
	name := Base(path)
	var next []state
	for _, s := range states {
		switch e := s.elements[0]; {
		case s.except.excludesAllBelow(path):
		case e == "**":
			next = append(next, s)
		case len(s.elements) > 1 && doublestar.MatchUnvalidated(e, name):
			next = append(next, state{s.elements[1:], s.except})
		}
	}
	return closure(next)
}

// closure adds the states in which a ** matches no directory.
func closure(states []state) []state {
	for i := 0; i < len(states); i++ {
		if s := states[i]; s.elements[0] == "**" && len(s.elements) > 1 {
			states = append(states, state{s.elements[1:], s.except})
		}
	}
	return states
}

// accepts reports whether the file at path matches. states are the states in the
// directory of the file.
func accepts(states []state, path string) bool {
	name := Base(path)
	return slices.ContainsFunc(states, func(s state) bool {
		return len(s.elements) == 1 && (s.elements[0] == "**" || doublestar.MatchUnvalidated(s.elements[0], name)) && !s.except.excludes(path)
	})
}

// EscapeGlob returns a pattern that matches only the given path.
func EscapeGlob(path string) string {
	var b []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', ']', '{', '}', '\\':
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}
