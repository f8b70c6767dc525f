package main

import (
	"os"
	"path/filepath"
)

// lookAtName returns the mark of a file in an open directory, without ctime and inode. It
// does not follow symbolic links.
func lookAtName(dir *os.File, name string) (mark, error) {
	info, err := os.Lstat(filepath.Join(dir.Name(), name))
	if err != nil {
		return mark{}, err
	}
	return mark{size: info.Size(), mtime: info.ModTime().UnixNano()}, nil
}
