package tree

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// exclusion is what a pattern does not match after all. Patterns share it; nil
// excludes nothing.
type exclusion struct {
	patterns []pattern
	globs    []string // the same as text
}

func newExclusion(patterns []pattern) *exclusion {
	x := &exclusion{patterns: patterns}
	for _, p := range patterns {
		x.globs = append(x.globs, p.glob())
	}
	return x
}

// holds reports whether a path is excluded.
func (x *exclusion) holds(path string) bool {
	return x != nil && slices.ContainsFunc(x.globs, func(glob string) bool { return matchesGlob(glob, path) })
}

// allBelow reports whether all that may be in a directory is certainly excluded.
func (x *exclusion) allBelow(dir string) bool {
	return x != nil && slices.ContainsFunc(x.globs, func(glob string) bool {
		return strings.HasSuffix("/"+glob, "/**") && doublestar.MatchUnvalidated(glob, dir+"/x")
	})
}

// through is the exclusion for what a link stands for, which leads to a path: what is
// excluded below the link is excluded there as well.
func (x *exclusion) through(link, to string) *exclusion {
	if x == nil {
		return nil
	}
	all := slices.Clone(x.patterns)
	for _, p := range x.patterns {
		matched, below := p.at(link)
		if matched && to != "" {
			all = append(all, pattern{base: to})
		}
		for _, s := range below {
			all = append(all, pattern{base: to, elements: s.elements})
		}
	}
	found := newExclusion(nil)
	for _, p := range all {
		if glob := p.glob(); !slices.Contains(found.globs, glob) {
			found.patterns, found.globs = append(found.patterns, p), append(found.globs, glob)
		}
	}
	return found
}

// within reports whether all that is excluded is excluded by another one, too.
func (x *exclusion) within(other *exclusion) bool {
	if x == nil || x == other {
		return true
	}
	return other != nil && !slices.ContainsFunc(x.globs, func(glob string) bool { return !slices.Contains(other.globs, glob) })
}

// Matches reports whether a path matches a pattern. It looks at no file.
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

// matchesGlob reports whether a path matches a glob, of which path.Clean leaves
// everything. What ends in ** matches what is in a directory, not the directory.
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
