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

// fileTooLarge reports whether a file may not become as long as it must: there
// is no such limit here.
func fileTooLarge(error) bool { return false }

// noDescriptors reports whether no more files can be opened: there is no limit
// that could be raised.
func noDescriptors(error) bool { return false }

// diskFailed reports whether a disk did not do what it was told.
func diskFailed(err error) bool {
	return errors.Is(err, windows.ERROR_CRC) || errors.Is(err, windows.ERROR_IO_DEVICE)
}
