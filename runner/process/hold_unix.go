//go:build unix

package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockLog locks a log while any process, of any user, has it as its output. The lock
// belongs to the open file, which these processes share, so that it outlives Runner. On a
// file system without locks it has no effect.
func lockLog(log *os.File) { _ = unix.Flock(int(log.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

// lockAlone locks a log against all processes that have it as their output. It fails with
// EWOULDBLOCK if there is one.
func lockAlone(log *os.File) error { return unix.Flock(int(log.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func openForLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
}

// isHeld reports whether a process has a log as its output.
func isHeld(path string) bool {
	f, err := openForLock(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return errors.Is(lockAlone(f), unix.EWOULDBLOCK)
}

// removeUnheld removes an empty log if certainly no process has it as its output.
func removeUnheld(path string) {
	f, err := openForLock(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	// The size counts only now: a process that has ended meanwhile may have written.
	if lockAlone(f) == nil && isEmpty(f.Stat()) {
		_ = os.Remove(path)
	}
}
