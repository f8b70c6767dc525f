package store

import "io/fs"

// Identity tells a file or directory from its copies, in every process and
// after a restart. A new name within the file system leaves it as it is.
type Identity struct {
	Device uint64 `json:"device,omitempty"` // 0: not known, so that the same number elsewhere proves nothing
	Number uint64 `json:"number,omitempty"` // on the device
}

// IdentityOf returns the identity of what Lstat described.
func IdentityOf(info fs.FileInfo) Identity {
	if m, ok := info.(*memoryInfo); ok {
		return Identity{Device: 1, Number: uint64(m.node.number)}
	}
	return identityOf(info)
}
