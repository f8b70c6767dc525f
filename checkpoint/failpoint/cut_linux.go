//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// extShutdown is EXT4_IOC_SHUTDOWN. Flag 1 writes the journal of the file system first,
// flag 2 drops it. Neither writes the content of files.
const extShutdown = 0x8004587D

// cut shuts the file system down, and kills this process.
func cutPower(flag uint32) {
	dir, err := os.Open(os.Getenv("RUNNER_FAILPOINT_CUT"))
	if err != nil {
		panic(err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, dir.Fd(), extShutdown, uintptr(unsafe.Pointer(&flag))); errno != 0 {
		panic(fmt.Errorf("shut the file system down: %w", errno))
	}
	killSelf()
}
