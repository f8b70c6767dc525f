package pipeline

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
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
	if isExclusion(globs[i]) {
		return nil
	}
	patterns := withDirectory(globs[i])
	if excluded := exclusions(globs[i+1:]); len(excluded) > 0 {
		behind := except + strings.Join(excluded, except)
		for j := range patterns {
			patterns[j] += behind
		}
	}
	return patterns
}

// exclusions returns the patterns that a list excludes.
func exclusions(globs []string) []string {
	var excluded []string
	for _, glob := range globs {
		if isExclusion(glob) {
			excluded = append(excluded, withDirectory(glob[1:])...)
		}
	}
	return excluded
}

func isExclusion(glob string) bool { return strings.HasPrefix(glob, "!") }

// withDirectory returns the patterns of a glob: the glob, and if it may name a
// directory, as src and src/ do, the pattern of the files below that directory.
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

// evalGlobs evaluates a list of globs and checks each of them.
func (b *builder) evalGlobs(a *argument, fr frame) []string {
	list := b.stringList(a, fr)
	for i, glob := range list {
		pattern, excludes := strings.CutPrefix(glob, "!")
		problem, outside := globProblem(pattern)
		owned := problem == "" && !outside && (a.name == "artifacts" || a.name == "scope") && !excludes && b.hidden(pattern)
		switch {
		case owned:
			b.errorf("Path that no glob sees", a.element(i, len(list)), "%q in %q lies in what is git's or in a directory of Runner's state, which no glob sees. Name files elsewhere.", glob, a.name)
		case outside:
			b.errorf("Path outside the workspace", a.element(i, len(list)), "%q in %q must be a path relative to the workspace, with slashes, and must not lead out of it.", glob, a.name)
		case problem != "":
			b.errorf("Invalid glob", a.element(i, len(list)), "%q in %q is not a valid glob. %s", glob, a.name, problem)
		case excludes && !slices.ContainsFunc(list[:i], func(before string) bool { return !isExclusion(before) }):
			b.errorf("Exclusion without effect", a.element(i, len(list)),
				"%q in %q excludes files from what stands before it in the list, and nothing does. Put it behind the globs that it is an exception to, such as [\"**\", %q]; a name that begins with an exclamation mark is written %q.", glob, a.name, glob, `\`+glob)
		}
	}
	if i := emptied(list); i >= 0 {
		b.errorf("Exclusion of everything", a.element(i, len(list)),
			"%q takes all out again that %q in %q brings in, and nothing is left. Exclude less, such as %q, or leave both out.", list[i], list[i][1:], a.name, "!"+path.Join(list[i][1:], "PART"))
	}
	return list
}

// emptied returns the index of the exclusion after which nothing of the list is left,
// because each glob is excluded again literally. It returns -1 if something may be left.
func emptied(globs []string) int {
	last := -1
	for i, glob := range globs {
		if isExclusion(glob) {
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

// hidden reports whether the literal beginning of a glob is a path that no glob sees.
func (b *builder) hidden(glob string) bool {
	literal, _, _ := strings.Cut(glob, "*")
	if i := strings.IndexAny(literal, "?[{"); i >= 0 {
		literal = literal[:i]
	}
	if literal != glob {
		literal = path.Dir(literal + "x")
	}
	return b.in.Hidden != nil && b.in.Hidden(path.Clean(literal))
}

// patterns calls Patterns for the globs of an argument. Instances share the result if
// the argument does not use each.
func (b *builder) patterns(a *argument, globs []string) []string {
	if a == nil {
		return nil
	}
	if known, ok := b.patternLists[a]; ok {
		return known
	}
	patterns := Patterns(globs)
	if a.kinds&kindEach == 0 {
		b.patternLists[a] = patterns
	}
	return patterns
}

// GlobProblem returns what is wrong with a glob that is not an exclusion, such as "leads
// out of the workspace". It returns "" for a valid glob.
func GlobProblem(glob string) string {
	problem, outside := globProblem(glob)
	switch {
	case outside:
		return "leads out of the workspace"
	case problem != "":
		return "is not a valid glob. " + problem
	}
	return ""
}

func globProblem(glob string) (problem string, outside bool) {
	switch {
	case !inside(glob) || slices.Contains(strings.FieldsFunc(glob, isGlobSeparator), ".."):
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
	tokens := globTokens(name)
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

// isGlobSeparator reports whether a character separates names in a glob, braces
// included.
func isGlobSeparator(r rune) bool { return strings.ContainsRune("/{},", r) }

// addWarning adds a warning.
func (b *builder) addWarning(summary string, subject hcl.Range, detail string) {
	b.addDiagnostics(hcl.Diagnostics{{Severity: hcl.DiagWarning, Summary: summary, Detail: detail, Subject: &subject}})
}
