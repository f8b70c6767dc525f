//go:build !unix

package tree

import "os"

// entriesOf lists an open directory, in no order.
func entriesOf(dir *os.File) ([]Entry, error) {
	entries, err := dir.ReadDir(-1)
	return plainEntries(entries), err
}
