//go:build linux || darwin

package workspace

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// statusIn looks at a name in a directory, which is open in both ways. The name is
// no path, so that it leads nowhere else.
func statusIn(_ *os.Root, dir *os.File, name string) (status, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return status{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
	}
	return status{mode: modeOf(uint32(st.Mode)), stat: statFrom(&st)}, nil
}

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
