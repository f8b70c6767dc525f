package tree

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// StateLock is the path of the lock in every state directory. A directory with a file at
// this path is a state directory, even if it has another name or belongs to another
// workspace.
const StateLock = "locks/store.lock"

// IsStateDir reports whether the directory at a slash-separated path is a state directory
// of Runner. lstat describes a path in the same tree.
func IsStateDir(lstat func(path string) (fs.FileInfo, error), dir string) bool {
	info, err := lstat(path.Join(dir, StateLock))
	return err == nil && !info.IsDir()
}

// IsStateDir reports whether a directory with the given entries is a state directory. The
// workspace itself, "", never counts as one.
func (t *Tree) IsStateDir(dir string, entries []Entry) bool {
	return dir != "" && holdsLocks(entries) && IsStateDir(t.Lstat, dir)
}

// holdsLocks reports whether a directory with these entries may be a state directory.
func holdsLocks(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.IsDir && e.Name == path.Dir(StateLock) })
}

// StateDirs knows the state directories of a tree, as long as none is made or removed.
type StateDirs struct {
	tree  *Tree
	known map[string]bool
}

// StateDirs returns the state directories of the tree. It looks for one when it is asked
// for a path below.
func (t *Tree) StateDirs() *StateDirs { return &StateDirs{tree: t, known: map[string]bool{}} }

// Contain reports whether a path lies in a state directory.
func (d *StateDirs) Contain(path string) bool {
	for dir := range Parents(path) {
		is, known := d.known[dir]
		if !known {
			is = IsStateDir(d.tree.Lstat, dir)
			d.known[dir] = is
		}
		if is {
			return true
		}
	}
	return false
}

// IsReserved reports whether files with the given name are never part of a workspace.
func IsReserved(name string) bool { return strings.EqualFold(name, GitDir) || IsUnfinished(name) }
