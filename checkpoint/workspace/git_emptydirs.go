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

// EmptyDirs lists the directories that hold no file at all, nor do their
// subdirectories, and that are not ignored; parents come before their children.
// They are sought in the directories that hold no file that git knows, of which
// the caller names the outermost, and in replaced ones, which have the names of
// files that git tracks. denied are those there that may not be read: what they
// hold is not known.
func (g *Git) EmptyDirs(ctx context.Context, fileless, replaced []string) (empty, denied []string, err error) {
	// Most are ignored as a whole, as what a build makes is: then git need not
	// look through the work tree once more.
	ignored, err := g.ignored(ctx, fileless)
	if err != nil || len(ignored) == len(fileless) && len(replaced) == 0 {
		return nil, nil, err
	}
	root, err := os.OpenRoot(g.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("look for empty directories: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return g.emptyDirs(ctx, root, replaced)
}

// emptyDirs asks git for the directories that it knows no file of, and looks
// into them. It names none at the path of a file that it tracks, or below.
func (g *Git) emptyDirs(ctx context.Context, root *os.Root, replaced []string) (empty, denied []string, err error) {
	// Git names a directory without a tracked file instead of what is in it.
	out, err := g.output(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard", "--directory")
	if err != nil {
		return nil, nil, fmt.Errorf("list the directories that git does not track: %w", err)
	}
	dirs := slices.Clone(replaced)
	for _, name := range records(out) {
		if dir, isDir := strings.CutSuffix(name, "/"); isDir {
			dirs = append(dirs, dir)
		}
	}
	var search emptySearch
	for _, dir := range dirs {
		if _, err := search.walk(ctx, root, dir); err != nil {
			return nil, nil, fmt.Errorf("look for empty directories: %w", err)
		}
	}
	ignored, err := g.ignored(ctx, slices.Concat(search.inner, search.denied))
	if err != nil {
		return nil, nil, err
	}
	isIgnored := func(dir string) bool { return ignored[dir] }
	empty = append(search.outer, slices.DeleteFunc(search.inner, isIgnored)...)
	slices.Sort(empty)
	return empty, slices.DeleteFunc(search.denied, isIgnored), nil
}

// emptySearch collects empty directories: outer are those that git named, and
// so has found not to be ignored, or in the place of files that it tracks; inner
// are below these.
type emptySearch struct {
	outer, inner []string
	denied       []string // directories that may not be read
}

// walk collects the empty directories of dir, and dir itself if it is one. What
// can't be read is not known to be empty.
func (s *emptySearch) walk(ctx context.Context, root *os.Root, dir string) (empty bool, err error) {
	mark := len(s.inner)
	empty, err = s.below(ctx, root, dir)
	if empty && dir != "." {
		s.outer = append(s.outer, dir)
	}
	if err != nil {
		s.inner = s.inner[:mark]
	}
	return empty, err
}

// below reports whether there is no file below dir, and collects the empty
// directories there.
func (s *emptySearch) below(ctx context.Context, root *os.Root, dir string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := readDir(root, dir)
	switch {
	case absent(err):
		return false, nil
	case errors.Is(err, fs.ErrPermission):
		s.denied = append(s.denied, dir)
		return false, nil
	case err != nil:
		return false, err
	}
	// Another repository's own directories are not ours to look at.
	if slices.ContainsFunc(entries, func(e dirEntry) bool { return e.name == ".git" }) {
		return false, nil
	}
	lstat := func(name string) (fs.FileInfo, error) { return root.Lstat(native(name)) }
	if dir != "." && holdsLocks(entries) && IsStateDir(lstat, dir) {
		return false, nil
	}
	empty := true
	for _, entry := range entries {
		if !entry.isDir {
			empty = false
			continue
		}
		child := path.Join(dir, entry.name)
		childEmpty, err := s.below(ctx, root, child)
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

func readDir(root *os.Root, dir string) ([]dirEntry, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(f)
	return entries, errors.Join(err, f.Close())
}

// ignored tells which of the paths .gitignore and its like name, and git does
// not track.
func (g *Git) ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	return g.checkIgnore(ctx, paths)
}

// IgnoredByRules tells which of the paths .gitignore and its like name, tracked
// or not.
func (g *Git) IgnoredByRules(ctx context.Context, paths []string) (map[string]bool, error) {
	return g.checkIgnore(ctx, paths, "--no-index")
}

func (g *Git) checkIgnore(ctx context.Context, paths []string, options ...string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	// Each path starts with "./", or one that starts with a colon would be read
	// as more than a path; this command does not know literal ones.
	c := g.command(append([]string{"check-ignore", "-z", "--stdin"}, options...)...)
	c.Env = append(c.Env, "GIT_LITERAL_PATHSPECS=0")
	stdin := strings.NewReader("./" + strings.Join(paths, "\x00./") + "\x00")
	out, err := g.capture(ctx, stdin, c)
	if err != nil && exitCode(err) != 1 { // 1: none is
		return nil, fmt.Errorf("ask git what is ignored: %w", err)
	}
	ignored := map[string]bool{}
	for _, path := range records(out) {
		ignored[strings.TrimPrefix(path, "./")] = true
	}
	return ignored, nil
}
