//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// diskFull reports whether something could not be written for want of room.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// readerGone reports whether output was lost since nobody reads it any more, as
// with `| head`.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }

// readOnly reports whether a whole file system cannot be written to.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// fileTooLarge reports whether a file may not become as long as it must.
func fileTooLarge(err error) bool { return errors.Is(err, syscall.EFBIG) }

// noDescriptors reports whether no more files can be opened.
func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// diskFailed reports whether a disk did not do what it was told.
func diskFailed(err error) bool { return errors.Is(err, syscall.EIO) }
