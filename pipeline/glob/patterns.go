package glob

import (
	"path"
	"slices"
	"strings"
)

// except separates a pattern from the patterns that it excludes. No glob contains it.
const except = "\x00"

// Patterns returns the patterns that a list of globs stands for. A path matches the list
// if it matches one of the patterns. A glob that may name a directory becomes two
// patterns, "src" and "src/**". The exclusions that follow a glob in the list are
// appended to its patterns, each after a NUL: "src/**\x00src/gen/**".
func Patterns(globs []string) []string {
	var all []string
	for i := range globs {
		all = append(all, patternsOf(globs, i)...)
	}
	return all
}

// EachPattern returns the patterns of each glob of the list. An exclusion has none.
func EachPattern(globs []string) [][]string {
	all := make([][]string, len(globs))
	for i := range globs {
		all[i] = patternsOf(globs, i)
	}
	return all
}

// patternsOf returns the patterns of the glob at i, with the exclusions that follow it.
func patternsOf(globs []string, i int) []string {
	if IsExclusion(globs[i]) {
		return nil
	}
	return WithDirectory(WithExclusions(globs, i))
}

// WithExclusions returns the pattern of the glob at i: the glob, and the exclusions that
// follow it in the list.
func WithExclusions(globs []string, i int) string {
	return strings.Join(append([]string{globs[i]}, exclusions(globs[i+1:])...), except)
}

// exclusions returns the patterns that a list excludes.
func exclusions(globs []string) []string {
	var excluded []string
	for _, glob := range globs {
		if IsExclusion(glob) {
			excluded = append(excluded, withDirectory(glob[1:])...)
		}
	}
	return excluded
}

// IsExclusion reports whether an entry of a list is an exclusion.
func IsExclusion(text string) bool { return strings.HasPrefix(text, "!") }

// WithDirectory returns the patterns that a pattern stands for: itself, and if it may name a
// directory, as src and src/ do, the pattern of the files below that directory.
func WithDirectory(pattern string) []string {
	glob, excluded, excludes := strings.Cut(pattern, except)
	patterns := withDirectory(glob)
	if excludes {
		for i := range patterns {
			patterns[i] += except + excluded
		}
	}
	return patterns
}

func withDirectory(glob string) []string {
	clean := path.Clean(glob)
	switch {
	case clean == ".":
		return []string{"**"}
	case strings.HasSuffix(glob, "/"):
		return []string{clean + "/**"}
	case !strings.ContainsAny(clean, "*?[{"):
		return []string{clean, clean + "/**"}
	}
	patterns := []string{clean}
	for _, alternative := range alternatives(clean) {
		if !strings.ContainsAny(path.Base(alternative), "*?[") {
			patterns = append(patterns, path.Clean(alternative)+"/**")
		}
	}
	return patterns
}

// Emptied returns the index of the exclusion after which nothing of the list is left,
// because each glob is excluded again literally. It returns -1 if something may be left.
func Emptied(globs []string) int {
	last := -1
	for i, glob := range globs {
		if IsExclusion(glob) {
			continue
		}
		behind := slices.Index(globs[i+1:], "!"+glob)
		if behind < 0 {
			return -1
		}
		last = max(last, i+1+behind)
	}
	return last
}

// Escape returns the glob that matches only this path.
func Escape(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteRune('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
