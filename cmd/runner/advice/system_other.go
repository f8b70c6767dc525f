//go:build !windows

package advice

import (
	"errors"
	"syscall"
)

// diskFull reports whether a write failed for lack of space.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// readOnly reports whether a whole file system cannot be written to.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// fileTooLarge reports whether a write failed because the file would exceed a limit on
// file sizes.
func fileTooLarge(err error) bool { return errors.Is(err, syscall.EFBIG) }

// noDescriptors reports whether no more files can be opened.
func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// diskFailed reports an input/output error of a disk.
func diskFailed(err error) bool { return errors.Is(err, syscall.EIO) }
