//go:build !linux

package workspace

// isMountPoint reports whether something is mounted on a path. Only Linux mounts
// anything on a file, and elsewhere nothing tells.
func (c *cursor) isMountPoint(string) bool { return false }
