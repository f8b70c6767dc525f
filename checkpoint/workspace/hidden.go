package workspace

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"prdrunner/checkpoint/workspace/tree"
)

// Hidden returns a function that reports whether patterns ignore a slash-separated path
// below dir. They ignore the files of git itself, files in a state directory, and files
// that Runner has not finished writing.
func Hidden(dir string) func(path string) bool {
	lstat := func(name string) (fs.FileInfo, error) { return os.Lstat(filepath.Join(dir, filepath.FromSlash(name))) }
	return func(name string) bool {
		for _, part := range tree.Above(path.Clean(name)) {
			if tree.IsReserved(path.Base(part)) || tree.IsStateDir(lstat, part) {
				return true
			}
		}
		return false
	}
}
