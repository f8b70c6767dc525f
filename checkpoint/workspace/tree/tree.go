// Package tree finds the files below a directory.
//
// It holds the walk, globs and their exclusions, symbolic links, and the cursor that opens
// directories without following a link. Digests of files belong in package statcache,
// captures and git in package workspace.
//
// Begin with Open, which returns a Tree. Its Match returns the files that patterns match,
// even behind links; Walk follows no link. A Cursor opens the directories of many sorted
// paths; a Place is a file in one of them. Parent, Parents and IsBelow work on paths.
package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/store"
)

// Tree is a directory and everything below it, except for reserved paths: git's own
// directories, files that Runner has not finished writing, and directories that the caller
// skips. It is safe for concurrent use.
type Tree struct {
	root   *os.Root
	dirs   []string  // absolute, slash-separated paths of the directory
	skip   []string  // slash-separated directories that are not part of the tree
	listed *dirNames // nil: directories are listed again each time
}

// Open opens a directory. skip are absolute paths of directories that are not part
// of the tree.
func Open(dir string, skip []string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root, dirs: absolutePaths(dir), skip: skippedPaths(dir, skip)}, nil
}

// Close closes the directory.
func (t *Tree) Close() error { return t.root.Close() }

// Root returns the open directory. It is valid until Close.
func (t *Tree) Root() *os.Root { return t.root }

// Skipped returns the directories that lie below the tree's and are not part of the tree.
func (t *Tree) Skipped() []string { return t.skip }

// WithListingCache returns a view of the tree that lists each directory only once. It is
// valid as long as nothing changes in the tree.
func (t *Tree) WithListingCache() *Tree {
	view := *t
	view.listed = newDirNames()
	return &view
}

// skippedPaths returns the directories in skip that lie in the tree top, as paths in the
// tree. It compares the paths both as given and with all links resolved.
func skippedPaths(top string, skip []string) []string {
	var dirs []string
	for _, dir := range skip {
		dirs = append(dirs, pathWithin(top, dir))
		base, err := filepath.EvalSymlinks(top)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, pathWithin(base, real))
		}
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return dir == "" })
}

// pathWithin returns the slash-separated path of dir in base, or "".
func pathWithin(base, dir string) string {
	rel, err := filepath.Rel(base, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// GitDir is the name of git's own directory. It is never part of a workspace, at any
// depth.
const GitDir = ".git"

// TempPrefix begins the names of the temporary files of Restore.
const TempPrefix = ".runner-restore-"

// IsUnfinished reports whether a name belongs to a temporary file of a restore or an
// export, which may be running or have been killed.
func IsUnfinished(name string) bool {
	return strings.HasPrefix(name, TempPrefix) || store.IsLeftover(name)
}

// Reserved reports whether a path is never part of the tree: it is git's own, a temporary
// file, or skipped.
func (t *Tree) Reserved(path string) bool {
	// All of these names begin with a dot, and few others do.
	if path != "" && path[0] == '.' || strings.Contains(path, "/.") {
		for element := range strings.SplitSeq(path, "/") {
			if IsReserved(element) {
				return true
			}
		}
	}
	for _, dir := range t.skip {
		if path == dir || strings.HasPrefix(path, dir) && path[len(dir)] == '/' {
			return true
		}
	}
	return false
}
