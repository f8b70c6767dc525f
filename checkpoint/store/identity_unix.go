//go:build linux || darwin

package store

import (
	"io/fs"
	"syscall"
)

func identityOf(info fs.FileInfo) Identity {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return Identity{Device: uint64(sys.Dev), Number: sys.Ino}
	}
	return Identity{}
}
