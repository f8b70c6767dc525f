//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is a directory that is open to look at names in it: a descriptor, past what
// package os does for a file. Names are no paths, and not ".." (checkName), so that they
// lead nowhere else.
type handle struct{ fd int }

// openHandle opens a directory that is open as a root.
func openHandle(root *os.Root) (handle, error) {
	f, err := root.OpenFile(".", os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return handle{}, err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return handle{fd}, errors.Join(err, f.Close())
}

// below opens a directory in it: errDetour if that is a link.
func (h handle) below(name string) (handle, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(h.fd, name, flags, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Openat(h.fd, name, flags, 0)
	}
	if err == nil {
		return handle{fd}, nil
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) { // which says so depends on the system
		if is, unknown := h.status(name); unknown == nil && is.mode&fs.ModeSymlink != 0 {
			return handle{}, errDetour
		}
		err = syscall.ENOTDIR
	}
	return handle{}, &fs.PathError{Op: "openat", Path: name, Err: err}
}

// status looks at a name in it.
func (h handle) status(name string) (status, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return status{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
	}
	return status{mode: modeOf(uint32(st.Mode)), stat: statFrom(&st)}, nil
}

// readlink is where a link in it leads.
func (h handle) readlink(name string) (string, error) {
	for size := 128; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(h.fd, name, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return "", &fs.PathError{Op: "readlinkat", Path: name, Err: err}
		case n < size: // else there may be more
			return string(buf[:n]), nil
		}
	}
}

// entries lists it, in no order.
func (h handle) entries(path string) ([]dirEntry, error) {
	if _, err := unix.Seek(h.fd, 0, 0); err != nil { // it may have been listed before
		return nil, &fs.PathError{Op: "seek", Path: path, Err: err}
	}
	return entriesAt(h.fd, path)
}

func (h handle) close() { _ = unix.Close(h.fd) } // nothing was written through it

// modeOf is a mode of the system as far as it matters here.
func modeOf(mode uint32) fs.FileMode {
	perm := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return perm
	case unix.S_IFDIR:
		return perm | fs.ModeDir
	case unix.S_IFLNK:
		return perm | fs.ModeSymlink
	}
	return perm | fs.ModeIrregular
}
