//go:build !unix

package tree

import (
	"path/filepath"
	"strings"
)

// nonBlock is 0, since named pipes are not files on this system.
const nonBlock = 0

// RenameBetween moves the file name from the current directory of one cursor to newName in
// that of another. The second directory must lie below the first.
func RenameBetween(from *Cursor, name string, to *Cursor, newName string) error {
	below := strings.TrimPrefix(to.currentPath()[len(from.currentPath()):], "/")
	return from.currentRoot().Rename(name, filepath.Join(Native(below), newName))
}
