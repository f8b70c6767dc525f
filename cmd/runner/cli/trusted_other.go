//go:build !windows

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// trustedAbove reports whether only this user and root can change a directory.
func trustedAbove(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o002 != 0 {
		return false
	}
	return stat.Uid == 0 || int(stat.Uid) == os.Geteuid()
}
