//go:build !linux

package tree

// IsMountPoint returns false: only Linux can mount on a file, and other systems have no
// call that tells.
func (c *Cursor) IsMountPoint(string) bool { return false }
