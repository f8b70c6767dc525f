package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/tree"
)

// gitKnown is what git knows of a workspace, and what it has no file in.
type gitKnown struct {
	files []git.File // sorted by path; none is in a state directory
	fileless
}

// fileless are directories in which there is no file that git knows.
type fileless struct {
	outermost []string // of those that it knows nothing of: what is empty is among them, or below one
	emptied   []string // those that nothing is in, and that it knows files of
	denied    []string // those that it knows files of, and that may not be read
	states    []string // state directories that it knows files of
}

// outsideState returns the files but those in state directories.
func (f *fileless) outsideState(files []git.File) []git.File {
	if len(f.states) == 0 {
		return files
	}
	states := map[string]bool{}
	for _, dir := range f.states {
		states[dir] = true
	}
	return slices.DeleteFunc(files, func(file git.File) bool { return tree.IsBelow(file.Path, states) })
}

// askGit finds out what git knows. It looks through its own index alone: what is in
// the work tree is listed here anyway, and it is asked only about what it does not
// track of that, which often is nothing.
func (w *Workspace) askGit(ctx context.Context) (gitKnown, error) {
	tracked, err := w.Git().Tracked(ctx)
	if err != nil {
		return gitKnown{}, err
	}
	found, err := w.untracked(ctx, tracked)
	if err != nil || len(found.paths) == 0 {
		return gitKnown{found.outsideState(tracked), found.fileless}, err
	}
	others, err := w.Git().Others(ctx, found.paths)
	if err != nil || len(others) == 0 {
		return gitKnown{found.outsideState(tracked), found.fileless}, err
	}
	files := git.Merge(others, tracked)
	found, err = w.untracked(ctx, files)
	return gitKnown{found.outsideState(files), found.fileless}, err
}

// untracked is what is in the directories of some files, and none of these.
type untracked struct {
	fileless
	paths []string // of files, and of directories that none of the files is in
}

// untracked looks at what is in the directories of files, which are sorted by path.
// Only names are read, so that it costs much less than to let git look through the
// work tree once more.
func (w *Workspace) untracked(ctx context.Context, files []git.File) (untracked, error) {
	c := w.Cursor()
	defer c.Close()
	var found untracked
	err := found.directory(ctx, w, c, "", files)
	return found, err
}

// directory looks at what is in a directory, "" for the workspace itself, of which
// the files are given.
func (u *untracked) directory(ctx context.Context, w *Workspace, c *tree.Cursor, dir string, files []git.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	children, err := w.Children(c, dir)
	switch {
	case err == nil && len(children) == 0 && dir != "":
		u.emptied = append(u.emptied, dir)
	case err == nil, tree.IsAbsent(err):
	case errors.Is(err, tree.ErrStateDir):
		u.states = append(u.states, dir)
	case errors.Is(err, fs.ErrPermission) && dir != "":
		u.denied = append(u.denied, dir)
	default:
		return fmt.Errorf("look for empty directories: %w", err)
	}
	rest := files
	for _, listed := range children {
		child, is := tree.ChildOf(listed)
		if is == tree.Directory {
			if err := u.subdirectory(ctx, w, c, child+"/", files); err != nil {
				return err
			}
			continue
		}
		for len(rest) > 0 && rest[0].Path < child {
			rest = rest[1:]
		}
		if (len(rest) == 0 || rest[0].Path != child) && !w.Reserved(child) {
			u.paths = append(u.paths, child)
		}
	}
	return nil
}

// subdirectory looks at a directory, which has a slash at its end.
func (u *untracked) subdirectory(ctx context.Context, w *Workspace, c *tree.Cursor, child string, files []git.File) error {
	dir := strings.TrimSuffix(child, "/")
	from, _ := slices.BinarySearchFunc(files, child, compareFile)
	files, inPlace := files[from:], files
	if below := sort.Search(len(files), func(i int) bool { return !strings.HasPrefix(files[i].Path, child) }); below > 0 {
		return u.directory(ctx, w, c, dir, files[:below])
	}
	if w.Reserved(dir) {
		return nil
	}
	at, listed := slices.BinarySearchFunc(inPlace, dir, compareFile)
	if !listed {
		u.outermost = append(u.outermost, dir)
	}
	if !listed || !inPlace[at].Gitlink {
		u.paths = append(u.paths, dir)
	}
	return nil
}

func compareFile(f git.File, path string) int { return strings.Compare(f.Path, path) }
