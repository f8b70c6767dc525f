//go:build !windows

package checkpoint

import (
	"errors"
	"syscall"
)

// processExists asks whether there is a process of the number at all.
func processExists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
