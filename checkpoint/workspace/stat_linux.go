package workspace

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// statOf returns what tells one content of a file from another.
func statOf(info fs.FileInfo) fileStat {
	s := fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.inode, s.device = sys.Ctim.Nano(), sys.Ino, uint64(sys.Dev)
	}
	return s
}

// bootID identifies the running kernel, "" where it has no name.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
