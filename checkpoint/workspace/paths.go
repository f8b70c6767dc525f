package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

// Paths are slash-separated and relative to the tree, "" for the tree itself.

func isBelow(path string, paths map[string]bool) bool {
	for dir := range parents(path) {
		if paths[dir] {
			return true
		}
	}
	return false
}

// parents yields the directories that a path lies in, the nearest first,
// without the workspace itself.
func parents(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := len(path) - 1; i > 0; i-- {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}

// parent is the directory that a path lies in, "" for the workspace itself.
func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// above returns the directories that a path lies in, the outermost first, and
// the path itself.
func above(path string) []string {
	dirs := slices.Collect(parents(path))
	slices.Reverse(dirs)
	return append(dirs, path)
}

// leadsTo reports whether a directory is another one, or above it.
func leadsTo(above, dir string) bool {
	rest, ok := strings.CutPrefix(dir, above)
	return ok && (above == "" || rest == "" || rest[0] == '/')
}

// native is a slash-separated path as the operating system spells it.
func native(path string) string { return filepath.FromSlash(path) }
