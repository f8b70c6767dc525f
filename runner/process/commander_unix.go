//go:build unix

package process

import (
	"os"
	"syscall"
)

// commandAttributes gives a program a process group of its own, so that a
// Ctrl+C at the terminal does not reach it.
func commandAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a program and what it started to end.
func terminate(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }
