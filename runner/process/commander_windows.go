package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// commandAttributes keep a Ctrl+C on the console from the command.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// askGroup kills the process: there is no gentler way that every program hears.
func askGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }
