package advice

import (
	"errors"

	"golang.org/x/sys/windows"
)

// diskFull reports whether a write failed for lack of space.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// readOnly reports whether a whole file system cannot be written to.
func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// fileTooLarge returns false: Windows has no limit on file sizes that a write can exceed.
func fileTooLarge(error) bool { return false }

// noDescriptors returns false: Windows has no limit on open files that the user could
// raise.
func noDescriptors(error) bool { return false }

// diskFailed reports an input/output error of a disk.
func diskFailed(err error) bool {
	return errors.Is(err, windows.ERROR_CRC) || errors.Is(err, windows.ERROR_IO_DEVICE)
}
