//go:build unix && !linux

package process

import (
	"context"
	"os"
	"syscall"

	"prdrunner/runner"
)

// system needs nothing here.
type system struct{}

func newSystem() (system, error) { return system{}, nil }

func (system) close() error { return nil }

// onWorkerThread calls f. No process depends on the thread that forked it here.
func onWorkerThread(f func()) { f() }

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// process is what is kept of a task's main process.
type process struct {
	status syscall.WaitStatus
}

// wait returns when the main process has ended, and reaps it: there is no
// portable way to wait without. For the moment until the task is marked as
// exited a stop may signal a group that has ended.
func (t *task) wait() error {
	for {
		_, err := syscall.Wait4(t.pid, &t.status, 0, nil)
		if err != syscall.EINTR {
			return os.NewSyscallError("wait4", err)
		}
	}
}

// endLeftovers kills what is left of the process group. A group keeps its
// number as long as it has a member, so it is this one or none. What left the
// group is not found, and nothing can be reported.
func (e *Executor) endLeftovers(t *task) ([]runner.Leftover, error) {
	t.killGroup()
	return nil, nil
}

func (e *Executor) collect(t *task) (ending, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, t.pid)
	return endingOf(t.status), nil
}

// askStragglers finds none: only Linux lets us look.
func (t *task) askStragglers() map[int]bool { return nil }

// Recover finds nothing: there is no way here to tell the processes of a
// session from others. It returns nil, nil.
func (e *Executor) Recover(context.Context, string) ([]runner.Leftover, error) { return nil, nil }
