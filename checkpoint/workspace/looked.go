package workspace

import (
	"context"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

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

// Apart splits the changes between two captures. Those in apart are of files that only one
// of the captures covers, so that their absence in the other means nothing.
func Apart(changes []Change, from, to Scope) (both, apart []Change) {
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

// As returns the workspace as an earlier capture saw it: with git if that capture used git
// and the repository exists, else without.
func (w *Workspace) As(inGit bool) *Workspace {
	if inGit == (w.Git() != nil) || w.o.Git == nil {
		return w
	}
	as := *w
	as.o.Mode = GitOff
	if inGit {
		as.o.Mode = GitRef
	}
	return &as
}

// NotGone corrects changes that lead from a capture to Now. It checks the path of each
// deleted file. If the file still exists, it is not deleted but unchanged or modified: git
// may ignore it by now, or can't be asked. Files that can't be read count as deleted.
func (w *Workspace) NotGone(ctx context.Context, changes []Change) ([]Change, error) {
	c := w.Cursor()
	defer c.Close()
	var all []Change
	for _, change := range changes {
		if change.Kind != Deleted || w.Reserved(change.Path) {
			all = append(all, change)
			continue
		}
		now, err := w.nowAt(ctx, c, *change.From)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			all = append(all, change)
		case !same(*change.From, now):
			all = append(all, Change{Path: change.Path, Kind: Modified, From: change.From, To: &now})
		}
	}
	return all, nil
}

// nowAt describes the file at the path of an entry. An empty directory that now contains
// files counts as unchanged.
func (w *Workspace) nowAt(ctx context.Context, c *tree.Cursor, was Entry) (Entry, error) {
	if was.isDir() {
		if is, err := c.Place(was.Path).Status(); err != nil || is.Mode.IsDir() {
			return was, err
		}
	}
	f, err := w.describeIn(ctx, c, was.Path)
	return f.entry, err
}
