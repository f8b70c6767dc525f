package pipeline

import (
	"path"
	"slices"
	"strings"

	"prdrunner/pipeline/glob"
)

// evalGlobs evaluates a list of globs and checks each of them.
func (b *builder) evalGlobs(a *argument, fr frame) []string {
	list := b.stringList(a, fr)
	for i, text := range list {
		pattern, excludes := strings.CutPrefix(text, "!")
		problem, outside := glob.Check(pattern)
		owned := problem == "" && !outside && (a.name == "artifacts" || a.name == "scope") && !excludes && b.hidden(pattern)
		switch {
		case owned:
			b.errorf("Path that no glob sees", a.element(i, len(list)), "%q in %q lies in what is git's or in a directory of Runner's state, which no glob sees. Name files elsewhere.", text, a.name)
		case outside:
			b.errorf("Path outside the workspace", a.element(i, len(list)), "%q in %q must be a path relative to the workspace, with slashes, and must not lead out of it.", text, a.name)
		case problem != "":
			b.errorf("Invalid glob", a.element(i, len(list)), "%q in %q is not a valid glob. %s", text, a.name, problem)
		case excludes && !slices.ContainsFunc(list[:i], func(before string) bool { return !glob.IsExclusion(before) }):
			b.errorf("Exclusion without effect", a.element(i, len(list)),
				"%q in %q excludes files from what stands before it in the list, and nothing does. Put it behind the globs that it is an exception to, such as [\"**\", %q]; a name that begins with an exclamation mark is written %q.", text, a.name, text, `\`+text)
		}
	}
	if i := glob.Emptied(list); i >= 0 {
		b.errorf("Exclusion of everything", a.element(i, len(list)),
			"%q takes all out again that %q in %q brings in, and nothing is left. Exclude less, such as %q, or leave both out.", list[i], list[i][1:], a.name, "!"+path.Join(list[i][1:], "PART"))
	}
	return list
}

// hidden reports whether the literal beginning of a glob is a path that no glob sees.
func (b *builder) hidden(text string) bool {
	literal, _, _ := strings.Cut(text, "*")
	if i := strings.IndexAny(literal, "?[{"); i >= 0 {
		literal = literal[:i]
	}
	if literal != text {
		literal = path.Dir(literal + "x")
	}
	return b.in.Hidden != nil && b.in.Hidden(path.Clean(literal))
}

// patterns calls glob.Patterns for the globs of an argument. Instances share the result if
// the argument does not use each.
func (b *builder) patterns(a *argument, globs []string) []string {
	if a == nil {
		return nil
	}
	if known, ok := b.patternLists[a]; ok {
		return known
	}
	patterns := glob.Patterns(globs)
	if a.kinds&kindEach == 0 {
		b.patternLists[a] = patterns
	}
	return patterns
}
