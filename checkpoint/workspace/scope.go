package workspace

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// InScope returns a function that reports for entries, from Now, whether a capture with
// the given patterns would include them. If inGit is false, git is not used.
func (w *Workspace) InScope(ctx context.Context, patterns []string, inGit bool) (func(Entry) bool, error) {
	g, err := w.tree.Walk(ctx, patterns)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, path := range append(g.Files, g.Empty...) {
		in[path] = true
	}
	inGit = inGit && w.o.Git != nil
	if inGit {
		files, err := w.o.Git.Files(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			in[f.Path] = true
		}
	}
	return func(e Entry) bool { return in[e.Path] || inGit && e.IsDir() }, nil
}

// Names returns the paths that Now would list. It reads no file.
func (w *Workspace) Names(ctx context.Context, patterns []string) ([]string, error) {
	s, err := newSurvey(ctx, w, patterns)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range s.listing(patterns).Entries {
		names = append(names, e.Path)
	}
	return names, nil
}

// Scope says which files a capture covers.
type Scope struct {
	Git      bool     // the files that git knows
	Patterns []string // globs; files that match one are in scope
}

// Holds reports whether a file at a path may be in scope. Which files git knew at an
// earlier time is not recorded, so that with Git every path may be.
func (s Scope) Holds(path string) bool {
	return s.Git || slices.ContainsFunc(s.Patterns, func(pattern string) bool { return tree.Matches(pattern, path) })
}

// SplitByScope splits the changes between two captures. The changes in apart concern
// files that only one of the captures covers, so that their absence in the other means
// nothing.
func SplitByScope(changes []Change, from, to Scope) (both, apart []Change) {
	if from.Git == to.Git && slices.Equal(from.Patterns, to.Patterns) {
		return changes, nil
	}
	for _, c := range changes {
		if c.From == nil && !from.Holds(c.Path) || c.To == nil && !to.Holds(c.Path) {
			apart = append(apart, c)
		} else {
			both = append(both, c)
		}
	}
	return both, apart
}

// CorrectDeletions corrects changes that lead from a capture to Now. It checks the path
// of each deleted file. If the file exists, it is not deleted but unchanged or modified:
// git may ignore it now, or Runner can't ask git. Files that can't be read count as
// deleted.
func (w *Workspace) CorrectDeletions(ctx context.Context, changes []Change) ([]Change, error) {
	c := w.tree.Cursor()
	defer c.Close()
	var all []Change
	for _, change := range changes {
		if change.Kind != Deleted || w.tree.Reserved(change.Path) {
			all = append(all, change)
			continue
		}
		now, err := w.files.describeNow(ctx, c, *change.From)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			all = append(all, change)
		case !sameEntry(*change.From, now):
			all = append(all, Change{Path: change.Path, Kind: Modified, From: change.From, To: &now})
		}
	}
	return all, nil
}

// describeNow describes the file at the path of an entry. An empty directory that now
// contains files counts as unchanged.
func (in *files) describeNow(ctx context.Context, c *tree.Cursor, was Entry) (Entry, error) {
	if was.IsDir() {
		if is, err := c.Place(was.Path).Status(); err != nil || is.Mode.IsDir() {
			return was, err
		}
	}
	f, err := in.describeIn(ctx, c, was.Path)
	return f.entry, err
}

// Hidden returns a function that reports whether patterns ignore a slash-separated path
// below dir. They ignore the files of git itself, files in a state directory, and
// temporary files of Runner.
func Hidden(dir string) func(path string) bool {
	lstat := func(name string) (fs.FileInfo, error) { return os.Lstat(filepath.Join(dir, filepath.FromSlash(name))) }
	return func(name string) bool {
		for _, part := range tree.Above(path.Clean(name)) {
			if tree.IsReserved(path.Base(part)) || tree.IsStateDir(lstat, part) {
				return true
			}
		}
		return false
	}
}

// Unlisted returns the paths of entries at which there is a file or link that a listing
// neither contains nor names as unreadable: git ignores it, or it looks sensitive.
func (w *Workspace) Unlisted(ctx context.Context, l *Listing, entries []Entry) ([]string, error) {
	listed := make(map[string]bool, len(l.Entries))
	for _, e := range l.Entries {
		listed[e.Path] = true
	}
	var paths []string
	c := w.tree.Cursor()
	defer c.Close()
	for _, e := range entries {
		if listed[e.Path] || w.tree.Reserved(e.Path) || l.IsSpecial(e.Path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		is, err := c.Place(e.Path).Status()
		switch {
		case err == nil && !is.Mode.IsDir():
			paths = append(paths, e.Path)
		case err != nil && !tree.IsAbsent(err):
			return nil, withPath(e.Path, err)
		}
	}
	return paths, nil
}

// ShownByGit returns the paths of existing files that git knows and that a listing neither
// contains nor names as unreadable. It asks git even if captures do not use it.
func (w *Workspace) ShownByGit(ctx context.Context, l *Listing) ([]string, error) {
	if w.o.Git == nil {
		return nil, nil
	}
	files, err := w.o.Git.Files(ctx)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, f := range files {
		if !f.Gitlink {
			entries = append(entries, Entry{Path: f.Path})
		}
	}
	return w.Unlisted(ctx, l, entries)
}

// Ignored returns the paths in the workspace that a listing lacks because git ignores
// them. A directory's path ends with a slash.
func (w *Workspace) Ignored(ctx context.Context, l *Listing) ([]string, error) {
	if w.Git() == nil {
		return nil, nil
	}
	all, err := w.Git().Ignored(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(path string) bool {
		_, listed := l.entryAt(path)
		return listed || w.tree.Reserved(strings.TrimSuffix(path, "/"))
	}), nil
}
