//go:build unix

package process

import (
	"os"
	"syscall"
)

func commandAttributes() *syscall.SysProcAttr { return childAttributes() }

// askGroup asks a process group to end; a stopped process hears of it only when
// it is continued. That the group has ended already is no error.
func askGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
