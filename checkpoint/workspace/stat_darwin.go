package workspace

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// statOf returns what tells one content of a file from another.
func statOf(info fs.FileInfo) fileStat {
	s := fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.inode, s.device = sys.Ctimespec.Nano(), sys.Ino, uint64(sys.Dev)
	}
	return s
}

// bootID identifies the running kernel, "" where it has no name.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
