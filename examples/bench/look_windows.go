package main

import (
	"os"
	"path/filepath"
)

// lookAtName looks at a name in an open directory.
func lookAtName(dir *os.File, name string) (mark, error) {
	info, err := os.Lstat(filepath.Join(dir.Name(), name))
	if err != nil {
		return mark{}, err
	}
	return mark{size: info.Size(), mtime: info.ModTime().UnixNano()}, nil
}
