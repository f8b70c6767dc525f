//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// spaceOf returns the room on the disk of a directory that an ordinary user may use, and
// reports whether it is known.
func spaceOf(dir string) (space, bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return space{}, false
	}
	return space{
		bytes: uint64(stat.Bavail) * uint64(stat.Bsize), files: uint64(stat.Ffree), counted: stat.Files > 0, network: networkOf(&stat),
	}, true
}
