package workspace

import "golang.org/x/sys/unix"

// isMountPoint reports whether something is mounted on a name in it: on that neither
// another file can be renamed, nor can it be removed. A kernel before 5.8 does not tell.
func (h handle) isMountPoint(name string) bool {
	var st unix.Statx_t
	err := unix.Statx(h.fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	return err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
