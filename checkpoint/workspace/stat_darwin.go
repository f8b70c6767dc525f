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

// statFrom is statOf of what the system says.
func statFrom(st *unix.Stat_t) fileStat {
	return fileStat{size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), inode: st.Ino, device: uint64(st.Dev)}
}

// bootID identifies the running kernel, "" where it has no name.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
