//go:build !linux && !darwin

package statcache

import "io/fs"

// StatOf returns the Stat of a file. Without a ctime, it does not show the change of a
// file whose size stays the same and whose time is set back.
func StatOf(info fs.FileInfo) Stat {
	return Stat{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
}

// bootID returns "", since the kernel has no identifier on this system. So the cache is
// not saved.
func bootID() string { return "" }
