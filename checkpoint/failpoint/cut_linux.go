//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// extShutdown is EXT4_IOC_SHUTDOWN. Flag 1 writes the log of the file system
// first, flag 2 drops it; no file's content is written with either.
const extShutdown = 0x8004587D

// cut shuts the file system down, and then this process.
func cut(flag uint32) {
	dir, err := os.Open(os.Getenv("RUNNER_FAILPOINT_CUT"))
	if err != nil {
		panic(err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, dir.Fd(), extShutdown, uintptr(unsafe.Pointer(&flag))); errno != 0 {
		panic(fmt.Errorf("shut the file system down: %w", errno))
	}
	kill()
}
