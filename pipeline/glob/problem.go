package glob

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Problem returns what Check finds, to follow the glob in a message, such as "leads out of
// the workspace". It returns "" for a valid glob.
func Problem(glob string) string {
	problem, outside := Check(glob)
	switch {
	case outside:
		return "leads out of the workspace"
	case problem != "":
		return "is not a valid glob. " + problem
	}
	return ""
}

// Check returns what is wrong with a glob that is not an exclusion, in a sentence for
// messages, or that it leads out of the workspace.
func Check(glob string) (problem string, outside bool) {
	switch {
	case !Inside(glob) || slices.Contains(strings.FieldsFunc(glob, isSeparator), ".."):
		return "", true
	case !doublestar.ValidatePattern(glob):
		return "Known are *, **, ?, [abc], [^abc] and {a,b}; a backslash takes the special meaning away.", false
	}
	for _, alternative := range alternatives(glob) {
		if slices.ContainsFunc(strings.Split(alternative, "/"), hasGluedStars) {
			return "** stands for any number of directories, and only between slashes; write \"" + unglued(glob, alternative) + "\", or * for a part of one name.", false
		}
	}
	return "", false
}

// hasGluedStars reports whether a name contains ** with other characters. Only a name
// that is nothing but ** stands for directories.
func hasGluedStars(name string) bool {
	tokens := tokenize(name)
	for i := 1; i < len(tokens); i++ {
		if tokens[i-1].any && tokens[i].any && name != "**" {
			return true
		}
	}
	return false
}

// unglued returns the glob that the author may have meant by a glob with glued stars in
// one alternative. If the correction depends on the braces, it returns only that
// alternative.
func unglued(glob, alternative string) string {
	meant, each := ungluedNames(glob), alternatives(glob)
	for i, a := range each {
		each[i] = ungluedNames(a)
	}
	if slices.Equal(alternatives(meant), each) {
		return meant
	}
	return ungluedNames(alternative)
}

// ungluedNames separates each glued ** with slashes: src/**.py becomes src/**/*.py, and
// src/foo** becomes src/foo*/**.
func ungluedNames(glob string) string {
	names := strings.Split(glob, "/")
	for i, name := range names {
		if !hasGluedStars(name) {
			continue
		}
		var meant []string
		parts := splitStars(name)
		for k, part := range parts {
			if k > 0 {
				meant = append(meant, "**")
			}
			if part == "" {
				continue
			}
			if k > 0 {
				part = "*" + part
			}
			if k < len(parts)-1 {
				part += "*"
			}
			meant = append(meant, part)
		}
		names[i] = strings.Join(meant, "/")
	}
	return strings.Join(names, "/")
}

// splitStars returns the parts of a name before, between and after each run of two or
// more stars. An escaped star and a star in a character class do not count.
func splitStars(name string) []string {
	var parts []string
	begin, rest := 0, name
	for rest != "" {
		at := len(name) - len(rest)
		stars := len(rest) - len(strings.TrimLeft(rest, "*"))
		switch {
		case stars > 1:
			parts = append(parts, name[begin:at])
			begin = at + stars
			rest = rest[stars:]
		case rest[0] == '\\' && len(rest) > 1:
			rest = rest[2:]
		case rest[0] == '[':
			rest = rest[max(1, strings.IndexByte(rest, ']')+1):]
		default:
			rest = rest[1:]
		}
	}
	return append(parts, name[begin:])
}

// isSeparator reports whether a character separates names in a glob, braces
// included.
func isSeparator(r rune) bool { return strings.ContainsRune("/{},", r) }

// Inside reports whether a path or glob is relative, uses slashes, and does not lead out
// of the directory.
func Inside(name string) bool {
	if name == "" || path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return false
	}
	if len(name) > 1 && name[1] == ':' || strings.HasPrefix(name, `\`) {
		return false // C:\ and \\server are absolute on other systems
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return false
		}
	}
	return true
}
