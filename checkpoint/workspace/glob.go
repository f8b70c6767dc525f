package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Lstat describes a path without following a link at its end.
func (w *Workspace) Lstat(path string) (fs.FileInfo, error) {
	info, err := w.root.Lstat(native(path))
	return info, w.outward(path, err)
}

// Glob returns the files that match any of the patterns, sorted, without
// duplicates. Directories do not match; symbolic links do, and are not
// followed, but for one in the workspace that the literal beginning of a pattern
// names.
func (w *Workspace) Glob(ctx context.Context, patterns []string) ([]string, error) {
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return nil, err
	}
	g := walk{w: w, follow: true}
	if err := g.patterns(ctx, parsed); err != nil {
		return nil, err
	}
	slices.Sort(g.files)
	return slices.Compact(g.files), nil
}

// walk finds what matches patterns.
type walk struct {
	w      *Workspace
	follow bool // links in the literal beginning of a pattern; else they match, where no file can
	pass   bool // over directories that may not be read, in place of failing

	files []string // neither sorted nor without duplicates
	empty []string // directories in which a file would match and nothing is
	// denied are the directories that were passed over.
	denied []string

	detour bool  // what is walked now may lie behind a link
	memo   *memo // of this walk

	stateDirs map[string]bool // whether a directory that a pattern names is a state directory
}

func (g *walk) patterns(ctx context.Context, patterns []pattern) error {
	byBase := map[string][]state{}
	for _, p := range patterns {
		reached, err := g.reaches(p)
		if err != nil {
			return fmt.Errorf("look for files: %w", err)
		}
		if !reached || g.w.excluded(p.base) || g.inStateDir(p.base) {
			continue
		}
		if len(p.elements) > 0 {
			byBase[p.base] = append(byBase[p.base], state{p.elements})
		} else if info, err := g.w.Lstat(p.base); err == nil && !info.IsDir() {
			g.files = append(g.files, p.base)
		}
	}
	for base, states := range byBase {
		g.memo = newMemo()
		g.detour = g.w.memo != nil && g.follow && base != "" && g.w.enter(base) != nil
		states = closure(states)
		err := g.ahead(ctx, base, states)
		if err == nil {
			err = g.directory(ctx, base, states)
		}
		if err != nil {
			return fmt.Errorf("look for files: %w", err)
		}
	}
	return nil
}

// ahead lists the directories that directory comes to, several at once: it needs
// them in their order. What can't be listed it meets again.
func (g *walk) ahead(ctx context.Context, base string, states []state) error {
	type visit struct {
		dir    string
		states []state
		below  []string
	}
	files := 0
	for level := []visit{{dir: base, states: states}}; len(level) > 0; {
		err := g.w.eachLooking(ctx, len(level), 1, func(_ context.Context, c *cursor, i int) error {
			level[i].below, _ = g.list(level[i].dir, func(dir string) ([]dirEntry, error) {
				if h, err := c.look(dir); err == nil {
					return h.entries(dir)
				}
				return g.w.readDir(dir) // it may lie behind a link
			})
			return nil
		})
		if err != nil {
			return err
		}
		var next []visit
		for _, v := range level {
			for _, child := range v.below {
				dir, isDir := strings.CutSuffix(child, "/")
				if !isDir {
					files++
				} else if !g.w.excluded(dir) {
					if below := step(v.states, dir[strings.LastIndexByte(dir, '/')+1:]); len(below) > 0 {
						next = append(next, visit{dir: dir, states: below})
					}
				}
			}
		}
		level = next
	}
	if len(g.files) == 0 { // most of them match, or few are there
		g.files = make([]string, 0, files)
	}
	return nil
}

// reaches reports whether what a pattern may match can be looked at: links on
// the way are followed, or there are none. One that there is stands in the place
// of the directory that it hides.
func (g *walk) reaches(p pattern) (bool, error) {
	if g.follow || p.base == "" {
		return true, nil
	}
	dirs := above(p.base)
	if len(p.elements) == 0 { // a link at the very path is what it names
		dirs = dirs[:len(dirs)-1]
	}
	for _, dir := range dirs {
		err := g.w.enter(dir)
		switch {
		case err == nil:
			continue
		case errors.Is(err, errDetour):
			if !g.w.excluded(dir) {
				g.files = append(g.files, dir)
			}
		case g.pass && errors.Is(err, fs.ErrPermission):
			g.denied = append(g.denied, dir)
		case !absent(err):
			return false, err
		}
		return false, nil
	}
	return true, nil
}

// directory looks for matches in a directory, "" for the workspace itself.
func (g *walk) directory(ctx context.Context, dir string, states []state) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	children, err := g.children(dir)
	switch {
	case absent(err), errors.Is(err, errStateDir): // what vanishes meanwhile is not there
		return nil
	case err != nil && dir != "" && g.w.LinkOut(dir) != "":
		return nil
	case g.pass && errors.Is(err, fs.ErrPermission):
		g.denied = append(g.denied, dir)
		return nil
	case err != nil:
		return err
	}
	counted := 0
	for _, path := range children {
		path, isDir := strings.CutSuffix(path, "/")
		name := path[strings.LastIndexByte(path, '/')+1:]
		if isTemp(name) {
			continue
		}
		counted++
		switch {
		case g.w.excluded(path):
		case !isDir:
			if accepts(states, name) {
				g.files = append(roomFor(g.files), path)
			}
		default:
			if below := step(states, name); len(below) > 0 {
				if err := g.directory(ctx, path, below); err != nil {
					return err
				}
			}
		}
	}
	if counted == 0 && dir != "" && accepts(states, "x") {
		g.empty = append(g.empty, dir)
	}
	return nil
}

// inStateDir reports whether a path lies in a state directory.
func (g *walk) inStateDir(path string) bool {
	for dir := range parents(path) {
		is, known := g.stateDirs[dir]
		if !known {
			is = IsStateDir(g.w.Lstat, dir)
			if g.stateDirs == nil {
				g.stateDirs = map[string]bool{}
			}
			g.stateDirs[dir] = is
		}
		if is {
			return true
		}
	}
	return false
}

// children lists a directory, "" for the workspace itself.
func (g *walk) children(dir string) ([]string, error) { return g.list(dir, g.w.readDir) }

// errStateDir says that a directory is a state directory, in which nothing matches.
var errStateDir = errors.New("is a state directory")

// list returns what is in a directory. What was listed once is not listed again.
func (g *walk) list(dir string, read func(dir string) ([]dirEntry, error)) ([]string, error) {
	known := g.memo
	if !g.detour && g.w.memo != nil {
		known = g.w.memo
	}
	if children, ok := known.children(dir); ok {
		return children, nil
	}
	entries, err := read(dir)
	if err != nil {
		return nil, err
	}
	holdsLocks := func(e dirEntry) bool { return e.isDir && e.name == path.Dir(StateLock) }
	if dir != "" && slices.ContainsFunc(entries, holdsLocks) && IsStateDir(g.w.Lstat, dir) {
		return nil, errStateDir
	}
	children := childrenOf(dir, entries)
	known.list(dir, children)
	return children, nil
}

// childrenOf returns the paths of what is in a directory, those of directories
// with a slash at their end, in the order of all the paths below it.
func childrenOf(dir string, entries []dirEntry) []string {
	if dir != "" {
		dir += "/"
	}
	size := 0
	for _, e := range entries {
		size += len(dir) + len(e.name) + len("/")
	}
	var all strings.Builder // one string, of which the paths are parts
	all.Grow(size)
	ends := make([]int, len(entries))
	for i, e := range entries {
		all.WriteString(dir)
		all.WriteString(e.name)
		if e.isDir {
			all.WriteByte('/')
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

// readDir lists a directory, "" for the workspace itself, in no order.
func (w *Workspace) readDir(dir string) ([]dirEntry, error) {
	name := "."
	if dir != "" {
		name = native(dir)
	}
	f, err := w.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return entries, err
}

// roomFor makes room in a list that may become very long: to grow it by small parts
// costs several times the memory of it.
func roomFor[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(64, len(list)))
}

// isTemp reports whether a name is of a file that Restore has not finished.
func isTemp(name string) bool {
	return len(name) > len(tempPrefix) && name[:len(tempPrefix)] == tempPrefix
}
