package store

import "io/fs"

// Identity distinguishes a file or directory from its copies, across processes, while its
// file system is mounted. Renaming keeps it.
type Identity struct {
	// Device is 0 if it is unknown; then equal numbers prove nothing. Many file systems
	// (tmpfs, overlay, btrfs, NFS) get another device with each mount.
	Device uint64 `json:"device,omitempty"`
	Number uint64 `json:"number,omitempty"` // on the device
}

// IdentityOf returns the identity of a file that Lstat described. An FS whose
// descriptions do not come from package os gives them a method Identity.
func IdentityOf(info fs.FileInfo) Identity {
	if i, ok := info.(interface{ Identity() Identity }); ok {
		return i.Identity()
	}
	return identityOf(info)
}
