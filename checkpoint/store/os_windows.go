package store

import (
	"io/fs"
	"os"
)

func openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

func remove(name string) error { return os.Remove(name) }

// syncDir does nothing: Windows has no way to flush a directory, and makes
// renames durable by the journal of NTFS.
func syncDir(string) error { return nil }
