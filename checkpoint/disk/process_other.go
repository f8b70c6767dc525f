//go:build !windows

package disk

import (
	"errors"
	"syscall"
)

// processExists reports whether there is a process with this number.
func processExists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
