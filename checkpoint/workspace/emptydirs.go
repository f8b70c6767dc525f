package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// Git knows no empty directories. A capture records those that no rule of git's
// ignores, so that a restore can make them again.

// emptyDirs lists the directories that hold no file, and whose subdirectories hold
// none, and that git does not ignore. Parents come before their children. It searches
// the outermost directories without a file that git knows, which the caller lists in
// fileless, and the directories in replaced, which have the names of files that git
// tracks. denied are the directories among them that Runner may not read.
func (w *Workspace) emptyDirs(ctx context.Context, fileless, replaced []string) (empty, denied []string, err error) {
	// Git often ignores all these directories, such as those that a build writes. Then git
	// need not read the work tree again.
	ignored, err := w.Git().IgnoredAmong(ctx, fileless)
	if err != nil || len(ignored) == len(fileless) && len(replaced) == 0 {
		return nil, nil, err
	}
	untracked, err := w.Git().UntrackedDirs(ctx)
	if err != nil {
		return nil, nil, err
	}
	search := emptySearch{w: w}
	for _, dir := range slices.Concat(replaced, untracked) {
		if err := search.walk(ctx, dir); err != nil {
			return nil, nil, fmt.Errorf("look for empty directories: %w", err)
		}
	}
	if ignored, err = w.Git().IgnoredAmong(ctx, slices.Concat(search.inner, search.denied)); err != nil {
		return nil, nil, err
	}
	isIgnored := func(dir string) bool { return ignored[dir] }
	empty = append(search.outer, slices.DeleteFunc(search.inner, isIgnored)...)
	slices.Sort(empty)
	return empty, slices.DeleteFunc(search.denied, isIgnored), nil
}

// emptySearch collects empty directories. Git does not ignore those in outer: it named
// them, or it tracks a file of their name. Those in inner lie below them.
type emptySearch struct {
	w            *Workspace
	outer, inner []string
	denied       []string // directories that Runner may not read
}

// walk collects dir, if it is empty, and the empty directories below it.
func (s *emptySearch) walk(ctx context.Context, dir string) error {
	empty, err := s.below(ctx, dir)
	if empty && dir != "." {
		s.outer = append(s.outer, dir)
	}
	return err
}

// below reports whether there is no file below dir, and collects the empty
// directories there.
func (s *emptySearch) below(ctx context.Context, dir string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := s.w.ReadDir(dir)
	switch {
	case tree.IsAbsent(err):
		return false, nil
	case errors.Is(err, fs.ErrPermission):
		s.denied = append(s.denied, dir)
		return false, nil
	case err != nil:
		return false, err
	}
	isRepository := slices.ContainsFunc(entries, func(e tree.Entry) bool { return e.Name == tree.GitDir })
	if isRepository || dir != "." && s.w.IsStateDir(dir, entries) {
		return false, nil
	}
	empty := true
	for _, entry := range entries {
		if !entry.IsDir {
			empty = false
			continue
		}
		child := path.Join(dir, entry.Name)
		childEmpty, err := s.below(ctx, child)
		if err != nil {
			return false, err
		}
		if childEmpty {
			s.inner = append(s.inner, child)
		}
		empty = empty && childEmpty
	}
	return empty, nil
}
