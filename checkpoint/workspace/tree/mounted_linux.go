package tree

import "golang.org/x/sys/unix"

// IsMountPoint reports whether something is mounted on a path: no other file can be
// renamed to it, and it cannot be removed. A kernel before 5.8 does not tell.
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
