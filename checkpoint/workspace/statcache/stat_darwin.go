package statcache

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// StatOf returns the Stat of a file.
func StatOf(info fs.FileInfo) Stat {
	s := Stat{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime, s.Inode, s.device = sys.Ctimespec.Nano(), sys.Ino, uint64(sys.Dev)
	}
	return s
}

// bootID identifies the running kernel; "" if it can't be read.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
