package savepointtest

import "golang.org/x/sys/unix"

// memoryDir returns a directory of a file system in memory with at least 1 GiB of free
// space, "" if there is none.
func memoryDir() string {
	const dir = "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < 1<<30 { //nolint:gosec // a block has no negative size
		return ""
	}
	return dir
}
