package glob

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/checkpoint/braces"
)

// maxAlternatives is the largest number of alternatives in the braces of a glob, when
// globs are compared. A glob with more alternatives overlaps nothing.
const maxAlternatives = 64

// parsed is a parsed glob without braces and exclusions.
type parsed struct {
	prefix   string // literal text at the beginning
	suffix   string // literal text at the end
	literal  bool   // it has no special characters
	named    bool   // it ends with a literal name, which may be that of a directory
	segments [][]token
}

// token matches one character, or, if any is set, any number of characters.
type token struct {
	any     bool   // *
	one     bool   // ?
	class   string // [abc]
	literal rune
}

// parse parses a valid glob without braces.
func parse(text string) parsed {
	if strings.HasSuffix(text, "/") {
		text += "**" // the files in the directory
	}
	var parts []string
	for part := range strings.SplitSeq(text, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{"**"} // the workspace itself
	}
	text = strings.Join(parts, "/")
	g := parsed{prefix: text, suffix: text}
	if i := strings.IndexAny(text, `*?[\`); i >= 0 {
		g.prefix = text[:i]
		last := strings.LastIndexAny(text, `*?]\`)
		if last >= 0 && text[last] == '\\' {
			last++ // an escaped character is not part of the literal end
		}
		g.suffix = text[min(last+1, len(text)):]
	} else {
		g.literal = true
	}
	for _, part := range parts {
		g.segments = append(g.segments, tokenize(part))
	}
	g.named = len(parts) > 0 && !strings.ContainsAny(parts[len(parts)-1], "*?[")
	if n := len(g.segments); n > 0 && isDoubleStar(g.segments[n-1]) {
		// Match the files in a directory, but not the directory itself. Matchers differ on
		// the latter, and no file can have the name of the directory.
		g.segments = append(g.segments, []token{{any: true}})
	}
	return g
}

// alternatives returns the globs that a glob with braces stands for, or nil if there are
// too many.
func alternatives(glob string) []string {
	all, _ := braces.Expand(glob, maxAlternatives)
	return all
}

func tokenize(segment string) []token {
	var tokens []token
	runes := []rune(segment)
	for i := 0; i < len(runes); i++ {
		switch runes[i] {
		case '*':
			tokens = append(tokens, token{any: true})
		case '?':
			tokens = append(tokens, token{one: true})
		case '[':
			end := i + 1
			for end < len(runes) && (runes[end] != ']' || end == i+1) {
				if runes[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(runes)-1)
			tokens = append(tokens, token{class: string(runes[i : end+1])})
			i = end
		case '\\':
			if i+1 < len(runes) {
				i++
			}
			tokens = append(tokens, token{literal: runes[i]})
		default:
			tokens = append(tokens, token{literal: runes[i]})
		}
	}
	return tokens
}

// isDoubleStar reports whether a segment is **.
func isDoubleStar(segment []token) bool {
	return len(segment) == 2 && segment[0].any && segment[1].any
}

// overlaps reports whether there certainly is a path that both globs match.
func (g *parsed) overlaps(other *parsed) bool {
	if g.literal && other.literal {
		return g.prefix == other.prefix
	}
	return sequencesOverlap(len(g.segments), len(other.segments),
		func(i int) bool { return isDoubleStar(g.segments[i]) },
		func(j int) bool { return isDoubleStar(other.segments[j]) },
		func(i, j int) bool { return segmentsOverlap(g.segments[i], other.segments[j]) })
}

// directories returns the directories that are in the literal prefix of the glob.
func (g *parsed) directories() []string {
	var dirs []string
	for i := range len(g.prefix) {
		if g.prefix[i] == '/' {
			dirs = append(dirs, g.prefix[:i])
		}
	}
	return dirs
}

// example returns a path that the glob matches. It replaces each wildcard with a name
// that no file has. A pattern that matches this path matches everything that the glob
// matches.
func (g *parsed) example() string {
	const name = "\x01\x01\x01"
	var names []string
	for _, segment := range g.segments {
		if isDoubleStar(segment) {
			names = append(names, name, name)
			continue
		}
		var text strings.Builder
		for _, t := range segment {
			switch {
			case t.any:
				text.WriteString(name)
			case t.one, strings.HasPrefix(t.class, "[^"), strings.HasPrefix(t.class, "[!"):
				text.WriteByte(name[0])
			case t.class != "":
				text.WriteString(strings.TrimLeft(t.class, `[\`)[:1])
			default:
				text.WriteRune(t.literal)
			}
		}
		names = append(names, text.String())
	}
	return strings.Join(names, "/")
}

func segmentsOverlap(a, b []token) bool {
	return sequencesOverlap(len(a), len(b),
		func(i int) bool { return a[i].any },
		func(j int) bool { return b[j].any },
		func(i, j int) bool { return a[i].overlaps(b[j]) })
}

// overlaps reports whether there certainly is a character that both tokens match.
func (t token) overlaps(other token) bool {
	switch {
	case t.one || other.one:
		return true
	case t.class != "" && other.class != "":
		return t.class == other.class // comparing classes in detail is not worth the code
	case t.class != "":
		return doublestar.MatchUnvalidated(t.class, string(other.literal))
	case other.class != "":
		return doublestar.MatchUnvalidated(other.class, string(t.literal))
	}
	return t.literal == other.literal
}

// sequencesOverlap reports whether two sequences with wildcards match a common sequence.
// A wildcard matches any number of elements, any other element matches one. It fills a
// table of all pairs of positions, row by row.
func sequencesOverlap(n, m int, anyA, anyB func(int) bool, same func(i, j int) bool) bool {
	next := make([]bool, m+1) // row i+1 of the table; below the last row nothing matches
	row := make([]bool, m+1)
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			switch {
			case i == n && j == m:
				row[j] = true
			case i < n && anyA(i):
				row[j] = next[j] || j < m && row[j+1]
			case j < m && anyB(j):
				row[j] = row[j+1] || next[j]
			case i < n && j < m:
				row[j] = next[j+1] && same(i, j)
			default:
				row[j] = false
			}
		}
		row, next = next, row
	}
	return next[0]
}
