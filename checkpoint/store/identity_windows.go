package store

import (
	"io/fs"
	"syscall"
)

// identityOf takes the time of creation, which a rename keeps and a copy does
// not: the number of a file is not told without opening it.
func identityOf(info fs.FileInfo) Identity {
	if sys, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		return Identity{Number: uint64(sys.CreationTime.Nanoseconds())}
	}
	return Identity{}
}
