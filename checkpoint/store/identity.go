package store

import "io/fs"

// Identity tells a file or directory from its copies, in every process as long
// as its file system is mounted. A new name within that leaves it as it is.
type Identity struct {
	// Device is 0 where it is not known: then the same number elsewhere proves
	// nothing. Many file systems (tmpfs, overlay, btrfs, NFS) are given another
	// one with each mount.
	Device uint64 `json:"device,omitempty"`
	Number uint64 `json:"number,omitempty"` // on the device
}

// IdentityOf returns the identity of what Lstat described.
func IdentityOf(info fs.FileInfo) Identity {
	if m, ok := info.(*memoryInfo); ok {
		return Identity{Device: 1, Number: uint64(m.node.number)}
	}
	return identityOf(info)
}
