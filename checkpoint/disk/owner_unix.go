//go:build !windows

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// IsForeign reports whether a file belongs to another user.
func IsForeign(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid()
}

// isWorldWritable reports whether everybody may change a directory.
func isWorldWritable(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// IsWritableByOthers reports whether others than its owner may change a directory.
func IsWritableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
