package statcache

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// StatOf returns the Stat of a file.
func StatOf(info fs.FileInfo) Stat {
	s := Stat{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime, s.Inode, s.device = sys.Ctim.Nano(), sys.Ino, uint64(sys.Dev)
	}
	return s
}

// bootID identifies the running kernel; "" if it can't be read.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
