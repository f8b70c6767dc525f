package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// diskFull reports whether something could not be written for want of room.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// readerGone reports whether output was lost since nobody reads it any more, as
// with `| head`.
func readerGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// readOnly reports whether a whole file system cannot be written to.
func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
