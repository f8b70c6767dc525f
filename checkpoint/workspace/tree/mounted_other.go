//go:build !linux

package tree

// IsMountPoint reports whether something is mounted on a path. Only Linux mounts
// anything on a file, and elsewhere nothing tells.
func (c *Cursor) IsMountPoint(string) bool { return false }
