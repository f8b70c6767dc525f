package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Lstat describes a path without following a link at its end.
func (t *Tree) Lstat(path string) (fs.FileInfo, error) {
	info, err := t.root.Lstat(Native(path))
	return info, t.MarkOutside(path, err)
}

// Glob returns the files that match any of the patterns, sorted, without duplicates. They
// are the Files of Match. Directories do not match.
func (t *Tree) Glob(ctx context.Context, patterns []string) ([]string, error) {
	m, err := t.Match(ctx, patterns, nil)
	if err != nil {
		return nil, err
	}
	return m.Files, nil
}

// Walked is the result of Walk. The paths are in no order, and may occur twice.
type Walked struct {
	Files  []string // files and links that match
	Empty  []string // empty directories in which a file would match
	Denied []string // directories that the user may not read
}

// Walk finds the files that match patterns. It follows no link, and skips directories that
// the user may not read.
func (t *Tree) Walk(ctx context.Context, patterns []string) (Walked, error) {
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return Walked{}, err
	}
	g := walk{tree: t, skipDenied: true, stateDirs: t.StateDirs()}
	err = g.findMatches(ctx, parsed)
	return Walked{Files: g.files, Empty: g.empty, Denied: g.denied}, err
}

// walk finds the files that match patterns. It follows no link. If a directory in the
// fixed part of a pattern is a link, the link itself counts as a match.
type walk struct {
	tree         *Tree
	collectLinks bool // collect the links that patterns name or lead through
	skipDenied   bool // skip directories that the user may not read, instead of failing
	untilFile    bool // stop at the first match that is no link

	files []string // not sorted, may contain duplicates
	empty []string // empty directories in which a file would match
	// denied are the directories that were skipped because of skipDenied.
	denied []string
	links  []string // the links that collectLinks asks for
	found  bool     // untilFile found its file

	listed *dirNames // the listings of the tree, or those of this walk

	stateDirs *StateDirs
}

func (g *walk) findMatches(ctx context.Context, patterns []pattern) error {
	if g.listed == nil {
		g.listed = cmp.Or(g.tree.listed, newDirNames())
	}
	byBase := map[string][]state{}
	c := Cursor{base: g.tree.root}
	defer c.Close()
	for _, p := range patterns {
		if g.found {
			return nil
		}
		reached, err := g.openBase(&c, p)
		if err != nil {
			return fmt.Errorf("look for files: %w", err)
		}
		if !reached || g.tree.Reserved(p.base) || g.stateDirs.Contain(p.base) {
			continue
		}
		if len(p.elements) > 0 {
			if !p.except.excludesAllBelow(p.base) {
				byBase[p.base] = append(byBase[p.base], state{p.elements, p.except})
			}
		} else if p.except.excludes(p.base) {
			continue
		} else if is, err := c.Place(p.base).Status(); err == nil && !is.Mode.IsDir() {
			g.addFile(p.base, is.Mode&fs.ModeSymlink != 0)
			if g.collectLinks && is.Mode&fs.ModeSymlink != 0 {
				g.links = append(g.links, p.base)
			}
		}
	}
	for _, base := range slices.Sorted(maps.Keys(byBase)) {
		states := closure(byBase[base])
		var err error
		if !g.untilFile {
			err = g.prefetch(ctx, base, states)
		}
		if err == nil {
			err = g.walkDir(ctx, base, states)
		}
		if err != nil {
			return fmt.Errorf("look for files: %w", err)
		}
	}
	return nil
}

// addFile adds a match. With untilFile, the walk ends if the match is no link.
func (g *walk) addFile(path string, isLink bool) {
	g.files = append(ensureRoom(g.files), path)
	g.found = g.found || g.untilFile && !isLink
}

// prefetch lists the directories that walkDir will visit, several at once. walkDir then
// takes their entries from listed in order, and reports the directories that can't be
// listed.
func (g *walk) prefetch(ctx context.Context, base string, states []state) error {
	type visit struct {
		dir    string
		states []state
		below  []string
	}
	files := 0
	dirs := cursors{base: g.tree.root} // shared by all levels, because each level opens directories below those of the previous level
	defer dirs.close()
	for level := []visit{{dir: base, states: states}}; len(level) > 0; {
		err := dirs.forEach(ctx, len(level), 1, func(_ context.Context, c *Cursor, i int) error {
			level[i].below, _ = g.listDir(c, level[i].dir)
			return nil
		})
		if err != nil {
			return err
		}
		var next []visit
		for _, v := range level {
			for _, child := range v.below {
				dir, is := ChildOf(child)
				if is != Directory {
					files++
				} else if !g.tree.Reserved(dir) {
					if below := advance(v.states, dir); len(below) > 0 {
						next = append(next, visit{dir: dir, states: below})
					}
				}
			}
		}
		level = next
	}
	if len(g.files) == 0 { // usually most files match, or there are few
		g.files = make([]string, 0, files)
	}
	return nil
}

// openBase reports whether the directory above the files that a pattern may match can be
// opened without following a link. If a link is on the way, openBase adds it to the
// matches, or with collectLinks to links.
func (g *walk) openBase(c *Cursor, p pattern) (bool, error) {
	dir := p.base
	if len(p.elements) == 0 { // a link at the path itself is a match
		dir = Parent(dir)
	}
	if _, err := c.Enter(dir); err == nil {
		return true, nil
	}
	for _, dir := range Above(dir) {
		_, err := c.Enter(dir)
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrBehindLink) && g.collectLinks:
			g.links = append(g.links, dir)
		case errors.Is(err, ErrBehindLink):
			if !g.tree.Reserved(dir) && !p.except.excludes(dir) {
				g.files = append(g.files, dir)
			}
		case g.skipDenied && errors.Is(err, fs.ErrPermission):
			g.denied = append(g.denied, dir)
		case !IsAbsent(err):
			return false, err
		}
		return false, nil
	}
	return true, nil // the directory was created meanwhile
}

// walkDir finds matches in a directory; "" is the workspace itself.
func (g *walk) walkDir(ctx context.Context, dir string, states []state) error {
	if err := ctx.Err(); err != nil || g.found {
		return err
	}
	children, err := g.listChildren(dir)
	switch {
	case IsAbsent(err), errors.Is(err, ErrStateDir): // a directory that vanishes meanwhile counts as absent
		return nil
	case g.skipDenied && errors.Is(err, fs.ErrPermission):
		g.denied = append(g.denied, dir)
		return nil
	case err != nil:
		return err
	}
	counted := 0
	for _, child := range children {
		if g.found {
			return nil
		}
		path, is := ChildOf(child)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if isTemp(name) {
			continue
		}
		counted++
		switch {
		case g.tree.Reserved(path):
		case is != Directory:
			matched := accepts(states, path)
			if matched {
				g.addFile(path, is == symlink)
			}
			if g.collectLinks && is == symlink && (matched || len(advance(states, path)) > 0) {
				g.links = append(g.links, path)
			}
		default:
			if below := advance(states, path); len(below) > 0 {
				if err := g.walkDir(ctx, path, below); err != nil {
					return err
				}
			}
		}
	}
	if counted == 0 && dir != "" && accepts(states, dir+"/"+anyName) {
		g.empty = append(g.empty, dir)
	}
	return nil
}

// listChildren lists a directory; "" is the workspace itself.
func (g *walk) listChildren(dir string) ([]string, error) {
	c := Cursor{base: g.tree.root}
	defer c.Close()
	return g.listDir(&c, dir)
}

// anyName stands for the name of any file. No glob names it.
const anyName = "\x00"

// ErrStateDir says that a directory is a state directory, in which nothing matches.
var ErrStateDir = errors.New("is a state directory")

// listDir returns the children of a directory, as childrenOf does.
func (g *walk) listDir(c *Cursor, dir string) ([]string, error) {
	return g.tree.listDir(c, dir, g.listed)
}

// Children returns the children of a directory, as childrenOf does. A state directory is
// ErrStateDir.
func (t *Tree) Children(c *Cursor, dir string) ([]string, error) {
	return t.listDir(c, dir, t.listed)
}

// listDir returns the children of a directory from listed. If listed lacks them, it lists
// the directory and adds them. It follows no link.
func (t *Tree) listDir(c *Cursor, dir string, listed *dirNames) ([]string, error) {
	if children, ok := listed.lookup(dir); ok {
		return children, nil
	}
	root, err := c.Enter(dir)
	if err != nil {
		return nil, err
	}
	entries, err := readDir(root, ".")
	if err != nil {
		return nil, err
	}
	if t.IsStateDir(dir, entries) {
		return nil, ErrStateDir
	}
	children := childrenOf(dir, entries)
	listed.record(dir, children)
	return children, nil
}

// The suffixes of the paths that childrenOf returns, for directories and links. No other
// path can end so.
const (
	Directory = "/"
	symlink   = "\x00"
)

// ChildOf splits a path that childrenOf returned into the path and its kind: Directory,
// symlink, or "" for any other file.
func ChildOf(listed string) (path, is string) {
	end := len(listed) - 1
	switch listed[end:] {
	case Directory, symlink:
		return listed[:end], listed[end:]
	}
	return listed, ""
}

// childrenOf returns the paths of a directory's entries, each with the suffix of its kind.
// They are sorted in the order of all paths below the directory.
func childrenOf(dir string, entries []Entry) []string {
	if dir != "" {
		dir += "/"
	}
	size := 0
	for _, e := range entries {
		size += len(dir) + len(e.Name) + len(Directory)
	}
	var all strings.Builder // one string that holds all paths
	all.Grow(size)
	ends := make([]int, len(entries))
	for i, e := range entries {
		all.WriteString(dir)
		all.WriteString(e.Name)
		switch {
		case e.IsDir:
			all.WriteString(Directory)
		case e.isLink:
			all.WriteString(symlink)
		}
		ends[i] = all.Len()
	}
	paths, begin := make([]string, len(entries)), 0
	for i, end := range ends {
		paths[i], begin = all.String()[begin:end], end
	}
	slices.Sort(paths)
	return paths
}

// ReadDir lists a directory, in no order; "" is the workspace itself.
func (t *Tree) ReadDir(dir string) ([]Entry, error) {
	name := "."
	if dir != "" {
		name = Native(dir)
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return entries, err
}

// ensureRoom makes room for more elements in a list that may become very long. It doubles
// the list, since growing in small steps takes several times the memory.
func ensureRoom[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(64, len(list)))
}

// IsEmpty reports whether a directory is empty. Temporary files of Restore don't count.
func (t *Tree) IsEmpty(dir string) (bool, error) {
	entries, err := t.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e Entry) bool { return !isTemp(e.Name) }), err
}

// isTemp reports whether a name belongs to a temporary file of Restore.
func isTemp(name string) bool {
	return len(name) > len(TempPrefix) && name[:len(TempPrefix)] == TempPrefix
}
