package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// UnseenError says that a process of another user has a log of the session open: a step
// started it through sudo or another program that changes the user. Runner may not examine
// it.
type UnseenError struct{ Log string }

func (e *UnseenError) Error() string {
	return fmt.Sprintf("a process of another user, which can't be looked at or ended from here, still has %s open as its output; end it first (`sudo fuser -v %s` names it)", e.Log, e.Log)
}

// lockLog locks a log while any process, of any user, has it as its output. The lock
// belongs to the open file, which these processes share, so that it outlives Runner. On a
// file system without locks it has no effect.
func lockLog(log *os.File) { _ = unix.Flock(int(log.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

// checkUnseen returns an *UnseenError if a process that Recover did not find has a log in
// the directory open.
func checkUnseen(logs string) error {
	entries, err := os.ReadDir(logs)
	if err != nil {
		return nil //nolint:nilerr // without the directory no process writes to a log
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
	defer func() { _ = f.Close() }()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}
