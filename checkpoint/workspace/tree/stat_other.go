//go:build !linux && !darwin

package tree

import "io/fs"

// StatOf returns the FileStat of a file. Without a ctime, it does not show the change of a
// file whose size stays the same and whose time is set back.
func StatOf(info fs.FileInfo) FileStat {
	return FileStat{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
}

// bootID returns "", since the kernel has no identifier on this system. So the cache is
// not saved.
func bootID() string { return "" }
