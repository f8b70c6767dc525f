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

// isHeld reports whether a process has a log as its output.
func isHeld(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}
