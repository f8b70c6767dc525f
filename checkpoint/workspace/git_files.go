package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
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

// matching returns the files that match the patterns, without the directories.
func (g gitKnown) matching(patterns []string) gitKnown {
	var found gitKnown
	for _, f := range g.files {
		if tree.MatchesAny(patterns, f.Path) {
			found.files = append(found.files, f)
		}
	}
	found.states = g.states
	return found
}

// fileless holds directories in which git knows no existing file, or which were not
// searched.
type fileless struct {
	// outermost are the outermost directories without a file that git knows. An empty
	// directory in which git tracks no file is in this list, or lies below a directory
	// in it.
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

// gitLister finds the files that git knows, and the empty directories, which git does not
// know.
type gitLister struct {
	git  *git.Repository
	tree *tree.Tree
}

func (w *Workspace) gitLister() *gitLister { return &gitLister{git: w.Git(), tree: w.tree} }

// listKnown returns the files that git knows. Git itself lists only its index, because
// Runner lists the work tree anyway. Then Runner asks git only about the untracked paths,
// which are often few.
func (l *gitLister) listKnown(ctx context.Context) (gitKnown, error) {
	tracked, err := l.git.Tracked(ctx)
	if err != nil {
		return gitKnown{}, err
	}
	found, err := l.untracked(ctx, tracked)
	if err != nil || len(found.paths) == 0 {
		return gitKnown{found.outsideState(tracked), found.fileless}, err
	}
	others, err := l.git.Others(ctx, found.paths)
	if err != nil || len(others) == 0 {
		return gitKnown{found.outsideState(tracked), found.fileless}, err
	}
	files := git.MergeFiles(others, tracked)
	found, err = l.untracked(ctx, files)
	return gitKnown{found.outsideState(files), found.fileless}, err
}

// untracked holds the paths that lie in the directories of given files and are not among
// these files.
type untracked struct {
	tree   *tree.Tree
	cursor *tree.Cursor

	fileless
	paths []string // paths of files, and of directories that contain none of the given files
}

// untracked finds the untracked paths in the directories of files, which are sorted by
// path. It only lists directories, which costs much less than if git walked the work tree
// again.
func (l *gitLister) untracked(ctx context.Context, files []git.File) (untracked, error) {
	c := l.tree.Cursor()
	defer c.Close()
	found := untracked{tree: l.tree, cursor: c}
	err := found.visitDir(ctx, "", files)
	return found, err
}

// visitDir collects the untracked paths in dir; "" is the workspace itself. files are the
// known files below dir.
func (u *untracked) visitDir(ctx context.Context, dir string, files []git.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	children, err := u.tree.Children(u.cursor, dir)
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
			if err := u.visitSubdir(ctx, child+"/", files); err != nil {
				return err
			}
			continue
		}
		for len(rest) > 0 && rest[0].Path < child {
			rest = rest[1:]
		}
		if (len(rest) == 0 || rest[0].Path != child) && !u.tree.Reserved(child) {
			u.paths = append(u.paths, child)
		}
	}
	return nil
}

// visitSubdir collects the untracked paths in child, a directory whose name ends in a
// slash.
func (u *untracked) visitSubdir(ctx context.Context, child string, files []git.File) error {
	dir := strings.TrimSuffix(child, "/")
	from, _ := slices.BinarySearchFunc(files, child, compareFile)
	files, inPlace := files[from:], files
	if below := sort.Search(len(files), func(i int) bool { return !strings.HasPrefix(files[i].Path, child) }); below > 0 {
		return u.visitDir(ctx, dir, files[:below])
	}
	if u.tree.Reserved(dir) {
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

// Git knows no empty directories. A capture records those that no rule of git's
// ignores, so that a restore can make them again.

// emptyDirs lists the directories that hold no file, and whose subdirectories hold
// none, and that git does not ignore. Parents come before their children. It searches
// the outermost directories without a file that git knows, which the caller lists in
// fileless, and the directories in replaced, which have the names of files that git
// tracks. denied are the directories among them that Runner may not read.
func (l *gitLister) emptyDirs(ctx context.Context, fileless, replaced []string) (empty, denied []string, err error) {
	// Git often ignores all these directories, such as those that a build writes. Then git
	// need not read the work tree again.
	ignored, err := l.git.IgnoredAmong(ctx, fileless)
	if err != nil || len(ignored) == len(fileless) && len(replaced) == 0 {
		return nil, nil, err
	}
	untracked, err := l.git.UntrackedDirs(ctx)
	if err != nil {
		return nil, nil, err
	}
	search := emptySearch{tree: l.tree}
	for _, dir := range slices.Concat(replaced, untracked) {
		if err := search.collectFrom(ctx, dir); err != nil {
			return nil, nil, fmt.Errorf("look for empty directories: %w", err)
		}
	}
	if ignored, err = l.git.IgnoredAmong(ctx, slices.Concat(search.inner, search.denied)); err != nil {
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
	tree         *tree.Tree
	outer, inner []string
	denied       []string // directories that Runner may not read
}

// collectFrom collects dir, if it is empty, and the empty directories below it.
func (s *emptySearch) collectFrom(ctx context.Context, dir string) error {
	empty, err := s.collectBelow(ctx, dir)
	if empty && dir != "." {
		s.outer = append(s.outer, dir)
	}
	return err
}

// collectBelow reports whether there is no file below dir, and collects the empty
// directories there.
func (s *emptySearch) collectBelow(ctx context.Context, dir string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := s.tree.ReadDir(dir)
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
	if isRepository || dir != "." && s.tree.IsStateDir(dir, entries) {
		return false, nil
	}
	empty := true
	for _, entry := range entries {
		if !entry.IsDir {
			empty = false
			continue
		}
		child := path.Join(dir, entry.Name)
		childEmpty, err := s.collectBelow(ctx, child)
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
