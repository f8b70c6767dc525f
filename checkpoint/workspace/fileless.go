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

// gitKnown holds the files that git knows in a workspace, and the directories without any.
type gitKnown struct {
	files []git.File // sorted by path; none is in a state directory
	fileless
}

// fileless holds directories, by how few files git knows in them.
type fileless struct {
	// outermost are the outermost directories without a file that git knows. An empty
	// directory in which git tracks no file is in this list, or lies below a directory in it.
	outermost []string
	emptied   []string // empty directories in which git tracks files
	denied    []string // directories in which git tracks files and that Runner may not read
	states    []string // state directories in which git tracks files
}

// outsideState returns the files that do not lie in state directories.
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

// askGit returns the files that git knows. Git itself lists only its index, since Runner
// lists the work tree anyway. Then git is asked only about the untracked paths, which are
// often few.
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

// untracked holds the paths that lie in the directories of given files and are not among
// these files.
type untracked struct {
	fileless
	paths []string // paths of files, and of directories that contain none of the given files
}

// untracked finds the untracked paths in the directories of files, which are sorted by
// path. It only lists directories, which costs much less than if git walked the work tree
// again.
func (w *Workspace) untracked(ctx context.Context, files []git.File) (untracked, error) {
	c := w.Cursor()
	defer c.Close()
	var found untracked
	err := found.directory(ctx, w, c, "", files)
	return found, err
}

// directory collects the untracked paths in dir; "" is the workspace itself. files are the
// known files below dir.
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

// subdirectory collects the untracked paths in child, a directory whose name ends in a
// slash.
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
