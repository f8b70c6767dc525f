//go:build !unix

package workspace

import (
	"path/filepath"
	"strings"
)

// nonBlock is not needed where named pipes are not files.
const nonBlock = 0

// renameBetween gives what has a name in one directory another one in another,
// both of which cursors have entered, the second one below the first.
func renameBetween(from *cursor, name string, to *cursor, newName string) error {
	below := strings.TrimPrefix(to.reached()[len(from.reached()):], "/")
	return from.current().Rename(name, filepath.Join(native(below), newName))
}
