package store

import (
	"io/fs"
	"syscall"
)

// identityOf uses the time of creation, which a rename keeps and a copy does not. Windows
// does not tell a file's number without opening the file.
func identityOf(info fs.FileInfo) Identity {
	if sys, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		return Identity{Number: uint64(sys.CreationTime.Nanoseconds())}
	}
	return Identity{}
}
