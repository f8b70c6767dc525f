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

// readOnly reports whether a whole file system cannot be written to.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
