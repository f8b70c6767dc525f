package tree

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A symbolic link stands for its target in the workspace. Match returns the links that
// match patterns together with the files behind them, each file under its real path, in
// which no directory is a link. It does so by extending the patterns: if "app/**" meets
// the link app/shared to the directory shared, the pattern "shared/**" is added. A pattern
// is added once, however many links lead to its directory, so that circular links come to
// an end.

// Links holds the targets of symbolic links by their paths in the workspace.
type Links map[string]string

// Matched is the result of Match.
type Matched struct {
	// Files are the files that match, sorted, without duplicates. They include each link
	// that a pattern names or leads through, and the files that the pattern matches
	// behind it.
	Files []string
	// Patterns are the given patterns, and patterns that match the same files without
	// passing through links.
	Patterns      []string
	AddedPatterns []string // the added patterns, which match files behind links
	Links         Links    // the links on the way that lead to a path in the workspace, or in circles
	Outside       Links    // the links on the way that lead out of the workspace, which are not followed
}

// HasContent reports whether a file matches. A link in Links does not count, but the files
// behind it do.
func (m *Matched) HasContent() bool {
	return slices.ContainsFunc(m.Files, func(path string) bool {
		_, isLink := m.Links[path]
		return !isLink
	})
}

// Match returns the files that the patterns match. It treats each path in restored as a
// link with that text, whatever the path is now.
func (t *Tree) Match(ctx context.Context, patterns []string, restored Links) (*Matched, error) {
	return t.matchWith(ctx, patterns, matchOptions{restored: restored})
}

// HasMatch reports whether a file other than a link matches, even behind links. It stops at
// the first such file, and so may return true where Match would fail.
func (t *Tree) HasMatch(ctx context.Context, patterns []string) (bool, error) {
	m, err := t.matchWith(ctx, patterns, matchOptions{untilFile: true})
	return err == nil && m.HasContent(), err
}

// MatchReadable is like Match without restored links. It skips directories that the user
// may not read, and follows no link for which skip returns true.
func (t *Tree) MatchReadable(ctx context.Context, patterns []string, skip func(link string) bool) (*Matched, error) {
	return t.matchWith(ctx, patterns, matchOptions{skipDenied: true, skip: skip})
}

// matchOptions holds the options of matchWith.
type matchOptions struct {
	restored   Links
	skipDenied bool                   // skip directories that the user may not read
	skip       func(link string) bool // reports links not to be followed; nil: none
	untilFile  bool                   // stop at the first file that is no link
}

func (t *Tree) matchWith(ctx context.Context, patterns []string, how matchOptions) (*Matched, error) {
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return nil, err
	}
	x := newExtension(t, parsed, t.linkTexts(how.restored))
	x.isDir = func(link, to string) bool {
		_, isRestored := how.restored[link]
		return isRestored || to == "" || t.checkDirectory(to) == nil
	}
	g := walk{tree: t, stateDirs: t.StateDirs(), collectLinks: true, skipDenied: how.skipDenied, untilFile: how.untilFile}
	for todo := parsed; len(todo) > 0 && !g.found; {
		if err := g.findMatches(ctx, todo); err != nil {
			return nil, err
		}
		met := slices.AppendSeq(g.links, maps.Keys(how.restored))
		if how.skip != nil {
			met = slices.DeleteFunc(met, how.skip)
		}
		todo, g.links = x.extend(met), nil
	}
	m := &Matched{Files: slices.AppendSeq(g.files, maps.Keys(x.passedLinks)), Links: x.links, Outside: x.outside}
	slices.Sort(m.Files)
	m.Files = slices.Compact(m.Files)
	m.AddedPatterns = x.addedPatterns()
	m.Patterns = append(slices.Clone(patterns), x.addedWithLinks()...)
	return m, nil
}

// Extend returns the patterns, and patterns that match the same files behind the given
// links. It reads no file.
func (t *Tree) Extend(patterns []string, links Links) []string {
	if len(links) == 0 {
		return patterns
	}
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return patterns // Match returns the error
	}
	x := newExtension(t, parsed, func(path string) (string, bool) {
		text, isLink := links[path]
		return text, isLink
	})
	for len(x.extend(slices.Collect(maps.Keys(links)))) > 0 {
		continue
	}
	return append(slices.Clone(patterns), x.addedWithLinks()...)
}

// RealPath returns the path of a file with all links above the file resolved. The file
// may be a link itself. If such a link leads out of the tree, RealPath returns the path
// unchanged.
func (t *Tree) RealPath(path string) string {
	if r := t.resolve(Parent(path), t.linkTexts(nil)); r.end == endsInside && len(r.links) > 0 {
		return joinPath(r.target, Base(path))
	}
	return path
}

// Target returns a path with all links resolved, even a link at the path itself. If the
// path leads out of the tree, Target returns it unchanged.
func (t *Tree) Target(path string) string {
	if r := t.resolve(path, t.linkTexts(nil)); r.end == endsInside {
		return r.target
	}
	return path
}

// linkTexts returns a function that returns the target of a link, or false for other
// paths. The function reads each path once.
func (t *Tree) linkTexts(restored Links) func(path string) (text string, isLink bool) {
	type seen struct {
		text   string
		isLink bool
	}
	known := make(map[string]seen)
	return func(path string) (string, bool) {
		if text, ok := restored[path]; ok {
			return text, true
		}
		s, ok := known[path]
		if !ok {
			text, err := t.root.Readlink(Native(path))
			s = seen{filepath.ToSlash(text), err == nil}
			known[path] = s
		}
		return s.text, s.isLink
	}
}

// ending says where a path leads.
type ending int

const (
	endsInside  ending = iota // at a path in the workspace, which need not exist
	endsOutside               // outside the workspace, or at a reserved path
	endsNowhere               // the links lead in circles
)

// route holds the links on the way to a path, and the end of the way.
type route struct {
	target string   // the resolved path; "": the workspace itself
	links  []string // the links on the way, in order
	end    ending
}

// maxHops bounds the links on the way to a path, as on Linux.
const maxHops = 40

// resolve resolves a path. textOf returns the target of a link, or false for other paths.
func (t *Tree) resolve(path string, textOf func(path string) (text string, isLink bool)) (r route) {
	for rest := strings.Split(path, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && r.target == "":
			r.end = endsOutside
			return r
		case name == "..":
			r.target = Parent(r.target)
			continue
		}
		next := joinPath(r.target, name)
		text, isLink := textOf(next)
		if !isLink {
			r.target = next
			continue
		}
		if r.links = append(r.links, next); len(r.links) > maxHops {
			r.end = endsNowhere
			return r
		}
		if filepath.IsAbs(Native(text)) {
			local, ok := t.localPath(text)
			if !ok {
				r.end = endsOutside
				return r
			}
			r.target, text = "", local
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	if t.Reserved(r.target) {
		r.end = endsOutside
	}
	return r
}

// localPath converts an absolute path to a path in the workspace. It returns false if the
// path is not in the workspace.
func (t *Tree) localPath(path string) (string, bool) {
	for _, dir := range t.dirs {
		if rest, ok := strings.CutPrefix(path, dir); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

// absolutePaths returns the absolute paths by which links may name a directory.
func absolutePaths(dir string) []string {
	names := []string{filepath.ToSlash(filepath.Clean(dir))}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		names = append(names, filepath.ToSlash(real))
	}
	return slices.Compact(names)
}

// extension is a list of patterns. Its method followLink adds patterns for the files
// behind links.
type extension struct {
	tree        *Tree
	textOf      func(path string) (text string, isLink bool)
	isDir       func(link, to string) bool // nil: every target counts as a directory
	all         []pattern                  // the given patterns, then the added ones
	givenCount  int
	passedLinks map[string]bool // links in the workspace that patterns name or lead through
	links       Links
	outside     Links
}

func newExtension(t *Tree, given []pattern, textOf func(path string) (string, bool)) *extension {
	return &extension{
		tree: t, textOf: textOf, all: slices.Clone(given), givenCount: len(given),
		passedLinks: make(map[string]bool), links: make(Links), outside: make(Links),
	}
}

// extend follows links, and returns the patterns that it added.
func (x *extension) extend(links []string) []pattern {
	before := len(x.all)
	slices.Sort(links)
	for _, link := range slices.Compact(links) {
		x.followLink(link)
	}
	return x.all[before:]
}

// followLink adds the patterns that the patterns in the list imply behind a link.
func (x *extension) followLink(link string) {
	matched, below := x.statesAt(link)
	if !matched && len(below) == 0 {
		return
	}
	r := x.tree.resolve(link, x.textOf)
	switch {
	case len(r.links) == 0: // the link no longer exists
		return
	case !matched && r.end == endsInside && !x.mayMatchBehind(link, r.target):
		return // only a wildcard leads through the link, and its target is no directory
	}
	if r.end == endsOutside {
		last := r.links[len(r.links)-1]
		x.outside[last], _ = x.textOf(last)
		return
	}
	for _, link := range r.links {
		x.passedLinks[link] = true
		x.links[link], _ = x.textOf(link)
	}
	if r.end == endsNowhere {
		return
	}
	for _, p := range slices.Clone(x.all) {
		matched, below := p.statesAt(link)
		if matched && r.target != "" {
			x.addPattern(pattern{base: r.target, except: p.except.behindLink(link, r.target)})
		}
		for _, s := range below {
			x.addPattern(pattern{base: r.target, elements: s.elements, except: s.except.behindLink(link, r.target)})
		}
	}
}

// mayMatchBehind reports whether patterns that do not match a link itself can match files
// behind the link.
func (x *extension) mayMatchBehind(link, to string) bool {
	return x.isDir == nil || x.isDir(link, to) ||
		slices.ContainsFunc(x.all, func(p pattern) bool { return IsAtOrAbove(link, p.base) })
}

// statesAt reports whether a pattern matches a path, and returns the states in a
// directory of that path.
func (x *extension) statesAt(path string) (matched bool, below []state) {
	for _, p := range x.all {
		m, b := p.statesAt(path)
		matched, below = matched || m, append(below, b...)
	}
	return matched, below
}

// addPattern adds a pattern, unless the other patterns match all files that it matches.
func (x *extension) addPattern(p pattern) {
	covered := slices.ContainsFunc(x.all, func(other pattern) bool {
		if p.base == "" {
			return other.base == "" && hasState(closure([]state{{other.elements, other.except}}), p)
		}
		matched, below := other.statesAt(p.base)
		if len(p.elements) == 0 {
			return matched && other.except.isSubsetOf(p.except)
		}
		return hasState(below, p)
	})
	if !covered {
		x.all = append(x.all, p)
	}
}

func hasState(states []state, p pattern) bool {
	return slices.ContainsFunc(states, func(s state) bool {
		return slices.Equal(s.elements, p.elements) && s.except.isSubsetOf(p.except)
	})
}

// addedPatterns returns the patterns that followLink added.
func (x *extension) addedPatterns() []string {
	var texts []string
	for _, p := range x.all[x.givenCount:] {
		texts = append(texts, p.String())
	}
	return texts
}

// addedWithLinks returns the added patterns, and the links on the way that no pattern
// names.
func (x *extension) addedWithLinks() []string {
	texts := x.addedPatterns()
	for link := range x.passedLinks {
		if matched, _ := x.statesAt(link); !matched {
			texts = append(texts, pattern{base: link}.String())
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// statesAt reports whether the pattern matches a path, and returns the states in a
// directory of that path.
func (p pattern) statesAt(path string) (matched bool, below []state) {
	switch {
	case p.base == path && len(p.elements) == 0:
		return !p.except.excludes(path), nil
	case p.except.excludesAllBelow(path):
		return false, nil
	case p.base == path:
		return false, closure([]state{{p.elements, p.except}})
	case p.base != "" && IsAtOrAbove(path, p.base):
		literal := strings.Split(escape(p.base[len(path)+1:]), "/")
		return false, []state{{append(literal, p.elements...), p.except}}
	case !IsAtOrAbove(p.base, path) || len(p.elements) == 0:
		return false, nil
	}
	states := closure([]state{{p.elements, p.except}})
	for i := len(p.base) + 1; i < len(path); i++ {
		if path[i] == '/' {
			if states = advance(states, path[:i]); len(states) == 0 {
				return false, nil
			}
		}
	}
	return accepts(states, path), advance(states, path)
}

// String returns the pattern in the form that Match accepts.
func (p pattern) String() string {
	if p.except == nil {
		return p.globText()
	}
	return strings.Join(append([]string{p.globText()}, p.except.globs...), Except)
}

// globText returns the pattern without its exclusions.
func (p pattern) globText() string {
	glob := escape(p.base)
	for _, e := range p.elements {
		glob = joinPath(glob, e)
	}
	return glob
}

// escape returns the glob that matches exactly one path.
func escape(path string) string {
	if !strings.ContainsAny(path, meta) {
		return path
	}
	var glob strings.Builder
	for i := range len(path) {
		if strings.IndexByte(meta, path[i]) >= 0 {
			glob.WriteByte('\\')
		}
		glob.WriteByte(path[i])
	}
	return glob.String()
}
