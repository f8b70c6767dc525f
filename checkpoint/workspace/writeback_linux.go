package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWriting tells the kernel to start to write a file to the disk, and reports whether
// it does. The file is not durable before a sync, which then has less to wait for.
func beginWriting(f *os.File) bool {
	return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) == nil
}

// maxOpenFiles returns the number of files that this process may have open.
func maxOpenFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<20))
}
