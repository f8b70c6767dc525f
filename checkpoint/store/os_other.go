//go:build !windows

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFile is os.OpenFile for what is never waited for: package os would ask the system to
// tell when there is something to read, which takes four more calls, and files refuse.
func openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := syscall.Open(name, flag|syscall.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case !errors.Is(err, syscall.EINTR):
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

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
