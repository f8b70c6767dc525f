package workspace

import (
	"context"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// Unlisted returns at which of the entries' paths there is something that is no
// directory and that a listing neither has nor could take in: it is ignored, or
// looks sensitive.
func (w *Workspace) Unlisted(ctx context.Context, l *Listing, entries []Entry) ([]string, error) {
	listed := make(map[string]bool, len(l.Entries))
	for _, e := range l.Entries {
		listed[e.Path] = true
	}
	var paths []string
	c := w.Cursor()
	defer c.Close()
	for _, e := range entries {
		if listed[e.Path] || w.Reserved(e.Path) || l.IsSpecial(e.Path) {
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
			return nil, failed(e.Path, err)
		}
	}
	return paths, nil
}

// ShownByGit returns the paths of files that git tracks or would, that are there, and that a
// listing neither has nor could take in, also where captures use no git.
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

// Ignored names what is in the workspace and not in a listing of it, since git
// ignores it: a directory by its name, with a slash.
func (w *Workspace) Ignored(ctx context.Context, l *Listing) ([]string, error) {
	if w.Git() == nil {
		return nil, nil
	}
	all, err := w.Git().Ignored(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(path string) bool {
		_, listed := l.at(path)
		return listed || w.Reserved(strings.TrimSuffix(path, "/"))
	}), nil
}
