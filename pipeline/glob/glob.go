// Package glob holds the rules of the language for globs: what is wrong with one, which
// patterns a list with exclusions stands for, and whether two globs match a common file. It
// works on texts and reads no files. What matches in a workspace is found by package files
// and by callers of the language; who owns a glob, and what an overlap means, package
// pipeline decides.
//
// A glob is written by the author, relative to the workspace and with slashes, as
// "src/**". In a list, "!src/gen/" is an exclusion from what stands before it. A pattern is
// a glob with the exclusions that follow it in its list, in one text. Check is where to
// begin for a single glob, Patterns for a list, and Compile for comparisons.
package glob

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Glob is a compiled pattern: a glob without braces, and the files that are excluded from
// it. It is immutable.
type Glob struct {
	parsed   parsed
	excluded []string // patterns of the files that the list excludes
	tail     string   // its literal end, reversed
	dirs     []parsed // the directories in its literal prefix
}

// Compile parses a valid pattern. It returns one Glob for each alternative of its braces,
// and none if there are more than 64.
func Compile(pattern string) []*Glob {
	texts := strings.Split(pattern, except)
	var globs []*Glob
	for _, text := range alternatives(texts[0]) {
		globs = append(globs, newGlob(parse(text), texts[1:]))
	}
	return globs
}

// newGlob parses the directories once, because a Glob is compared with many others.
func newGlob(p parsed, excluded []string) *Glob {
	g := &Glob{parsed: p, excluded: excluded, tail: reversed(p.suffix)}
	for _, dir := range p.directories() {
		g.dirs = append(g.dirs, parse(dir))
	}
	return g
}

// Prefix returns the literal text at the beginning. If two globs overlap, the prefix of one
// begins the prefix of the other.
func (g *Glob) Prefix() string { return g.parsed.prefix }

// Overlaps reports whether there certainly is a file that both match. A glob that names a
// directory matches the files in it.
func (g *Glob) Overlaps(other *Glob) bool {
	return g.sharesPath(other) || g.contains(other) || other.contains(g)
}

// sharesPath reports whether there certainly is a path that both globs match. A glob that
// names a directory does not match the files in it here; contains compares these.
func (g *Glob) sharesPath(other *Glob) bool {
	return g.parsed.overlaps(&other.parsed) && g.notExcluded(other)
}

// contains reports whether a glob names a directory in which the other glob has files.
func (g *Glob) contains(other *Glob) bool {
	if !g.parsed.named || !g.notExcluded(other) {
		return false
	}
	for i := range other.dirs {
		if g.parsed.overlaps(&other.dirs[i]) {
			return true
		}
	}
	return false
}

// notExcluded reports whether each of two globs still matches files once the exclusions of both
// are applied. It tries the exclusions on one example path of each glob: if an exclusion matches
// the example, notExcluded assumes that it excludes all files of that glob.
func (g *Glob) notExcluded(other *Glob) bool {
	for _, excluded := range [][]string{g.excluded, other.excluded} {
		for _, pattern := range excluded {
			if matches(pattern, g.parsed.example()) || matches(pattern, other.parsed.example()) {
				return false
			}
		}
	}
	return true
}

// matches reports whether a path matches a pattern without exclusions.
func matches(pattern, file string) bool {
	if strings.HasSuffix(pattern, "/**") {
		pattern += "/*" // the files in the directory, but not the directory
	}
	return doublestar.MatchUnvalidated(pattern, file)
}

func reversed(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}
