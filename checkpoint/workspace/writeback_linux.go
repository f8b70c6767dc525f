package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWriting has the disk begin with what was written to a file, and reports
// whether it does. It makes nothing durable: that takes a sync, which has less to
// wait for then.
func beginWriting(f *os.File) bool {
	return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) == nil
}

// mostOpen is how many files this process may have open.
func mostOpen() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<20))
}
