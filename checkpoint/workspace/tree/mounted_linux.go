package tree

import "golang.org/x/sys/unix"

// IsMountPoint reports whether a path is a mount point, which can be neither removed nor
// replaced by a rename. On kernels before 5.8 it returns false.
func (c *Cursor) IsMountPoint(path string) bool {
	if _, err := c.Enter(Parent(path)); err != nil {
		return false
	}
	dir, err := c.directory()
	if err != nil {
		return false
	}
	var st unix.Statx_t
	err = unix.Statx(int(dir.Fd()), Base(path), unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	return err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
