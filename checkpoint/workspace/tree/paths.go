package tree

import (
	"path/filepath"
	"slices"
	"strings"
)

// Paths are slash-separated and relative to the tree, "" for the tree itself.

func IsBelow(path string, paths map[string]bool) bool {
	for dir := range Parents(path) {
		if paths[dir] {
			return true
		}
	}
	return false
}

// Parents yields the directories above a path, the nearest first, without the workspace
// itself.
func Parents(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := len(path) - 1; i > 0; i-- {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}

// Parent returns the directory of a path, "" for the workspace itself.
func Parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Above returns the directories above a path, the outermost first, and the path itself.
func Above(path string) []string {
	dirs := slices.Collect(Parents(path))
	slices.Reverse(dirs)
	return append(dirs, path)
}

// IsAtOrAbove reports whether above is dir or a directory above dir.
func IsAtOrAbove(above, dir string) bool {
	rest, ok := strings.CutPrefix(dir, above)
	return ok && (above == "" || rest == "" || rest[0] == '/')
}

// Native returns a slash-separated path in the spelling of the operating system.
func Native(path string) string { return filepath.FromSlash(path) }
