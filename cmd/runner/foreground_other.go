//go:build !windows

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether a terminal lets this program read: one that is in the
// background, as with `&` or timeout(1), would be stopped for it, and could not even
// take in the signal to end.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // no controlling terminal stops nobody
}
