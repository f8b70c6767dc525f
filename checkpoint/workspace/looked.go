package workspace

import (
	"context"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// Scope is what a capture looked at.
type Scope struct {
	Git      bool     // what git shows
	Patterns []string // and what matches one of these
}

// Holds reports whether a file at a path is in scope. What git showed at some time is not
// known later, so that with it everything may be.
func (s Scope) Holds(path string) bool {
	return s.Git || slices.ContainsFunc(s.Patterns, func(pattern string) bool { return tree.Matches(pattern, path) })
}

// Apart takes out of the changes between two captures those of files that only one of these
// looked at: that the other one lacks them says nothing.
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

// As returns the workspace as a capture of any time looked at it: with git, if that was made
// with it and the repository is there, or without.
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

// NotGone corrects changes that lead from a capture to Now: of what they call deleted it looks
// at the path, since what is there all the same is not. Git ignores it by now, or can't be asked.
// What can't be read counts as deleted.
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

// nowAt describes what is at the path of an entry. An empty directory that has got files is
// there.
func (w *Workspace) nowAt(ctx context.Context, c *tree.Cursor, was Entry) (Entry, error) {
	if was.isDir() {
		if is, err := c.Place(was.Path).Status(); err != nil || is.Mode.IsDir() {
			return was, err
		}
	}
	f, err := w.describeIn(ctx, c, was.Path)
	return f.entry, err
}
