//go:build !unix

package workspace

import "os"

// entriesOf lists an open directory, in no order.
func entriesOf(dir *os.File) ([]dirEntry, error) {
	entries, err := dir.ReadDir(-1)
	return plainEntries(entries), err
}
