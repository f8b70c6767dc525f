package process

import (
	"os"
	"syscall"
)

// commandAttributes is the default.
func commandAttributes() *syscall.SysProcAttr { return nil }

// terminate ends a program: it can't be asked.
func terminate(p *os.Process) error { return p.Kill() }
