//go:build !windows

package cli

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inForeground reports whether a terminal lets this process read. If the process is in the
// background, as with `&` or timeout(1), reading would stop it, and it could not even act
// on a signal to end.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // without a controlling terminal, reading stops no process
}

// ReaderGone reports whether output was lost because its reader has closed the pipe, as
// with `| head`.
func ReaderGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
