package tree

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// exclusion holds globs of files that a pattern does not match. Patterns share
// exclusions; nil excludes nothing.
type exclusion struct {
	patterns []pattern
	globs    []string // the patterns as text
}

func newExclusion(patterns []pattern) *exclusion {
	x := &exclusion{patterns: patterns}
	for _, p := range patterns {
		x.globs = append(x.globs, p.globText())
	}
	return x
}

// excludes reports whether a path is excluded.
func (x *exclusion) excludes(path string) bool {
	return x != nil && slices.ContainsFunc(x.globs, func(glob string) bool { return matchesGlob(glob, path) })
}

// excludesAllBelow reports whether everything below a directory is certainly excluded: a glob
// that ends in ** matches the directory, or one above it, and so all that is below.
func (x *exclusion) excludesAllBelow(dir string) bool {
	return x != nil && slices.ContainsFunc(x.globs, func(glob string) bool {
		return strings.HasSuffix("/"+glob, "/**") && doublestar.MatchUnvalidated(glob, dir)
	})
}

// behindLink returns the exclusion for the target of a link. Files that are excluded below
// the link are excluded below the target, too.
func (x *exclusion) behindLink(link, to string) *exclusion {
	if x == nil {
		return nil
	}
	all := slices.Clone(x.patterns)
	for _, p := range x.patterns {
		matched, below := p.statesAt(link)
		if matched && to != "" {
			all = append(all, pattern{base: to})
		}
		for _, s := range below {
			all = append(all, pattern{base: to, elements: s.elements})
		}
	}
	found := newExclusion(nil)
	for _, p := range all {
		if glob := p.globText(); !slices.Contains(found.globs, glob) {
			found.patterns, found.globs = append(found.patterns, p), append(found.globs, glob)
		}
	}
	return found
}

// isSubsetOf reports whether other has every glob of x. Then it excludes everything that
// x excludes.
func (x *exclusion) isSubsetOf(other *exclusion) bool {
	if x == nil || x == other {
		return true
	}
	return other != nil && !slices.ContainsFunc(x.globs, func(glob string) bool { return !slices.Contains(other.globs, glob) })
}

// MatchesAny reports whether a path matches one of the patterns.
func MatchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Matches(pattern, path) })
}

// Matches reports whether a path matches a pattern. It reads no files.
func Matches(pattern, file string) bool {
	glob, excluded, some := strings.Cut(pattern, Except)
	if !matchesGlob(path.Clean(glob), file) {
		return false
	}
	for some {
		glob, excluded, some = strings.Cut(excluded, Except)
		if matchesGlob(path.Clean(glob), file) {
			return false
		}
	}
	return true
}

// matchesGlob reports whether a path matches a glob, which must be clean in the sense of
// path.Clean. A glob that ends in ** matches the files in a directory, but not the
// directory.
func matchesGlob(glob, file string) bool {
	if !strings.ContainsAny(glob, meta) {
		return glob == file
	}
	if dir, ok := strings.CutSuffix(glob, "/**"); ok {
		if !strings.ContainsAny(dir, meta) {
			return strings.HasPrefix(file, dir) && len(file) > len(dir) && file[len(dir)] == '/'
		}
		glob += "/*"
	}
	ok, err := doublestar.Match(glob, file)
	return err == nil && ok
}
