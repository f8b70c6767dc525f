//go:build !linux

package workspace

import "io/fs"

func plainEntries(found []fs.DirEntry) []dirEntry {
	entries := make([]dirEntry, len(found))
	for i, e := range found {
		entries[i] = dirEntry{e.Name(), e.IsDir(), e.Type()&fs.ModeSymlink != 0}
	}
	return entries
}
