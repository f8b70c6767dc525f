package doctor

import "golang.org/x/sys/unix"

// networkOf returns the name of a file system that is on another machine, "" for others.
func networkOf(stat *unix.Statfs_t) string {
	switch uint32(stat.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "SMB"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	case unix.AFS_SUPER_MAGIC:
		return "AFS"
	}
	return ""
}
