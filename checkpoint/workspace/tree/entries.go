package tree

import (
	"errors"
	"io/fs"
	"os"
)

// Entry is a name in a directory.
type Entry struct {
	Name   string
	IsDir  bool // false for a link to a directory
	isLink bool
}

func readDir(root *os.Root, dir string) ([]Entry, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(f)
	return entries, errors.Join(err, f.Close())
}

func plainEntries(found []fs.DirEntry) []Entry {
	entries := make([]Entry, len(found))
	for i, e := range found {
		entries[i] = Entry{e.Name(), e.IsDir(), e.Type()&fs.ModeSymlink != 0}
	}
	return entries
}
