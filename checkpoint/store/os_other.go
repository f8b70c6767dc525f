//go:build !windows

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// remove is os.Remove, which tries twice before it says that there is nothing.
func remove(name string) error {
	if err := syscall.Unlink(name); err == nil {
		return nil
	} else if errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	return os.Remove(name)
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		_ = d.Close() // the sync's error is the one that matters
		return err
	}
	return d.Close()
}
