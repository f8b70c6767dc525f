package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// UnseenError says that something of a session is alive that may not be looked at,
// since it belongs to another user: a step started it through sudo, or another program
// that changes the user.
type UnseenError struct{ Log string }

func (e *UnseenError) Error() string {
	return fmt.Sprintf("a process of another user, which can't be looked at or ended from here, still has %s open as its output; end it first (`sudo fuser -v %s` names it)", e.Log, e.Log)
}

// holdLog locks a log for as long as any process has it as its output, whoever's that
// is. The lock belongs to the open file, which all of them have in common, and so it
// outlives the runner. Where a file system has no locks, nothing is known.
func holdLog(log *os.File) { _ = unix.Flock(int(log.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

// unseen is an *UnseenError if a process that was not found still has a log in a
// directory open.
func unseen(logs string) error {
	entries, err := os.ReadDir(logs)
	if err != nil {
		return nil //nolint:nilerr // where there are no logs, nobody writes to one
	}
	for _, e := range entries {
		if path := filepath.Join(logs, e.Name()); e.Type().IsRegular() && strings.HasSuffix(path, ".log") && isHeld(path) {
			return &UnseenError{Log: path}
		}
	}
	return nil
}

func isHeld(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was opened for reading
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}
