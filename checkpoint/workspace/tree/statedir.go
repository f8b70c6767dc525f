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

// IsReserved reports whether files with the given name are never part of a workspace.
func IsReserved(name string) bool { return strings.EqualFold(name, GitDir) || IsUnfinished(name) }
