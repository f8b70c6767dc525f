package workspace

import (
	"context"
	"slices"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// Unlisted returns the paths of entries at which there is a file or link that a listing
// neither contains nor names as unreadable: git ignores it, or it looks sensitive.
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

// Ignored returns the paths in the workspace that a listing does not have since git
// ignores them. A directory's path ends with a slash.
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
