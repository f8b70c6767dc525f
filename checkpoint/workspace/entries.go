package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// dirEntry is a name in a directory.
type dirEntry struct {
	name   string
	isDir  bool // itself, and not by a link
	isLink bool
}

func readDir(root *os.Root, dir string) ([]dirEntry, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(f)
	return entries, errors.Join(err, f.Close())
}

func plainEntries(found []fs.DirEntry) []dirEntry {
	entries := make([]dirEntry, len(found))
	for i, e := range found {
		entries[i] = dirEntry{e.Name(), e.IsDir(), e.Type()&fs.ModeSymlink != 0}
	}
	return entries
}
