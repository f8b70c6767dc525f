package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// commandAttributes protects the command from a Ctrl+C on the console.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// askGroup kills the process: Windows has no gentler way that every program notices.
func askGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }
