//go:build !unix

package tree

import (
	"path/filepath"
	"strings"
)

// nonBlock is not needed where named pipes are not files.
const nonBlock = 0

// RenameBetween gives what has a name in one directory another one in another,
// both of which cursors have entered, the second one below the first.
func RenameBetween(from *Cursor, name string, to *Cursor, newName string) error {
	below := strings.TrimPrefix(to.reached()[len(from.reached()):], "/")
	return from.current().Rename(name, filepath.Join(Native(below), newName))
}
