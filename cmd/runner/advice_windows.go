package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// diskFull reports whether something could not be written for want of room.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// readOnly reports whether a whole file system cannot be written to.
func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
