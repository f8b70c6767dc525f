//go:build unix

package process

import (
	"os"
	"syscall"
)

func commandAttributes() *syscall.SysProcAttr { return childAttributes() }

// askGroup asks a process group to end. A stopped process receives the signal only when it
// is continued. It is no error if the group has ended.
func askGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
