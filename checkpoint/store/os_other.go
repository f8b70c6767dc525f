//go:build !windows

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFile is os.OpenFile for regular files. Package os would try to register the file with
// the poller, which costs four more system calls and fails for regular files.
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

// remove is os.Remove, which makes two system calls for a missing file.
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
		_ = d.Close() // the error of Sync matters
		return err
	}
	return d.Close()
}
