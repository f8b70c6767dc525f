//go:build unix && !linux

package process

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"prdrunner/runner"
)

// pollTime is the time between two checks of a group that is ending.
const pollTime = 5 * time.Millisecond

// system needs nothing here.
type system struct{}

func newSystem() (system, error) { return system{}, nil }

func (system) close() error { return nil }

// onWorkerThread calls f. Here no process depends on the thread that forked it.
func onWorkerThread(f func()) { f() }

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// process holds the wait status of a task's main process.
type process struct {
	status syscall.WaitStatus
}

// wait returns when the main process has ended, and reaps it, because there is no portable
// way to wait without reaping. Until the task is marked as exited, a stop may signal a
// group that has ended.
func (t *task) wait() error {
	for {
		_, err := syscall.Wait4(t.pid, &t.status, 0, nil)
		if err != syscall.EINTR {
			return os.NewSyscallError("wait4", err)
		}
	}
}

// hasEnded returns false: this system has no way to find out before wait returns.
func (t *task) hasEnded() bool { return false }

// endLeftovers ends the remaining process group, and reports it as one process with the
// group's number. A group keeps its number while it has a member. Processes that left the
// group are not found.
func (e *Executor) endLeftovers(t *task) ([]runner.Leftover, error) {
	reportFrom := time.Now().Add(e.leftoverDelay)
	killAt := reportFrom.Add(t.work.Grace)
	stopped, stoppedKillAt := t.stopped()
	if stopped {
		killAt = stoppedKillAt
	}
	var found []runner.Leftover
	for asked := stopped; groupExists(t.pid); time.Sleep(pollTime) {
		now := time.Now()
		if now.Before(reportFrom) && now.Before(killAt) {
			continue
		}
		if found == nil {
			found = []runner.Leftover{{PID: t.pid, Command: "(process group)", Task: t.work.Env[workstreamVariable]}}
		}
		switch {
		case now.Sub(killAt) > killWait:
			return found, fmt.Errorf("%w: in group %d", ErrUnkillable, t.pid)
		case !now.Before(killAt) || e.isClosed():
			t.killGroup()
		case !asked:
			asked = true
			t.askGroup()
		}
	}
	return found, nil
}

func groupExists(group int) bool { return syscall.Kill(-group, 0) != syscall.ESRCH }

func (e *Executor) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

func (e *Executor) collect(t *task) (ending, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, t.pid)
	return endingOf(t.status), nil
}

// askStragglers finds none: only Linux shows them.
func (t *task) askStragglers() map[int]bool { return nil }

// Alive finds nothing, for the same reason as Recover.
func Alive(string, string) []runner.Leftover { return nil }

// Recover returns nil, nil: the processes of a session cannot be found here.
func (e *Executor) Recover(context.Context, string, string) ([]runner.Leftover, error) {
	return nil, nil
}
