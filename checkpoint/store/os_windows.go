package store

import (
	"io/fs"
	"os"
)

func openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

func remove(name string) error { return os.Remove(name) }

// syncDir does nothing: Windows cannot flush a directory, and the journal of NTFS makes
// renames durable.
func syncDir(string) error { return nil }
