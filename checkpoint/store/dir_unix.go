//go:build linux || darwin

package store

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openDir is an open directory of the operating system.
type openDir struct {
	fd   int
	path string
}

func newOpenDir(path string) (*openDir, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &openDir{fd, path}, nil
}

// uninterrupted repeats a system call that a signal interrupted.
func uninterrupted(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (d *openDir) failed(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: filepath.Join(d.path, name), Err: err}
}

func (d *openDir) lstatIn(name string) (fs.FileMode, int64, error) {
	var st unix.Stat_t
	err := uninterrupted(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return 0, 0, d.failed("lstat", name, err)
	}
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	return mode, st.Size, nil
}

// readStart opens with O_NONBLOCK, so that a named pipe does not block it.
func (d *openDir) readStart(name string, buf []byte) (err error) {
	var fd int
	err = uninterrupted(func() (err error) {
		fd, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return d.failed("open", name, err)
	}
	defer func() { _ = unix.Close(fd) }() // a close after reading loses nothing
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return d.failed("stat", name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return d.failed("read", name, ErrNotRegular)
	}
	if _, err := io.ReadFull(descriptor(fd), buf); err != nil {
		return d.failed("read", name, err)
	}
	return nil
}

// descriptor reads from a file descriptor without an os.File.
type descriptor int

func (d descriptor) Read(p []byte) (n int, err error) {
	err = uninterrupted(func() (err error) { n, err = unix.Read(int(d), p); return err })
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

func (d *openDir) closeDir() error {
	if err := unix.Close(d.fd); err != nil {
		return &fs.PathError{Op: "close", Path: d.path, Err: err}
	}
	return nil
}
