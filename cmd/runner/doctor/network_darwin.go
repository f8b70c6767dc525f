package doctor

import "golang.org/x/sys/unix"

// networkOf returns the name of a file system that is on another machine, "" for others.
func networkOf(stat *unix.Statfs_t) string {
	if stat.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(stat.Fstypename[:])
}
