package process

import (
	"context"
	"fmt"
	"sync"
	"time"

	"prdrunner/runner"
)

// leftoverDelay is how long a process may outlive the main process of its task before it
// counts as left over: the tee of a shell's pipeline ends a moment later. It is a field of
// Executor too, so that tests can set it.
const leftoverDelay = 100 * time.Millisecond

// task is one run of a runner.Task.
type task struct {
	work     runner.Task
	executor *Executor
	token    string // value of tokenVariable in its processes
	input    *input // nil: standard input is empty
	pid      int    // set by start, before other goroutines see the task

	process // system-specific fields for waiting and ending

	callbacks sync.WaitGroup // armed timers and context callbacks

	mu        sync.Mutex
	exited    bool           // wait has returned, so that the main process receives no more signals
	reason    runner.Outcome // why the task was stopped: TimedOut, Cancelled, or ""
	killAt    time.Time      // end of the grace, if the task was stopped
	killTimer *time.Timer
	signalled map[int]bool // stragglers that received SIGTERM when the task was stopped
}

// armTimers stops the task on its timeout and when ctx is cancelled. After disarm has
// returned, it sends no signal.
func (t *task) armTimers(ctx context.Context) (disarm func()) {
	t.callbacks.Add(1)
	release := context.AfterFunc(ctx, func() {
		defer t.callbacks.Done()
		t.stopTask(runner.Cancelled, t.work.Grace)
	})
	var timer *time.Timer
	if t.work.Timeout > 0 {
		t.callbacks.Add(1)
		timer = time.AfterFunc(t.work.Timeout, func() {
			defer t.callbacks.Done()
			t.stopTask(runner.TimedOut, t.work.Grace)
		})
	}
	return func() {
		t.mu.Lock()
		t.exited = true
		if t.killTimer != nil && t.killTimer.Stop() {
			t.callbacks.Done()
		}
		t.mu.Unlock()
		if release() {
			t.callbacks.Done()
		}
		if timer != nil && timer.Stop() {
			t.callbacks.Done()
		}
		t.callbacks.Wait()
	}
}

// stopTask asks the processes of the task to end, and kills them after the grace; without a
// grace at once. The first reason stays.
func (t *task) stopTask(reason runner.Outcome, grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exited || t.hasEnded() {
		return // the exit decides, even if wait has not seen it yet
	}
	first := t.reason == ""
	if first {
		t.reason = reason
		t.killAt = time.Now().Add(grace)
	}
	if grace <= 0 {
		t.killAt = time.Now()
		t.killGroup()
		return
	}
	if !first {
		return
	}
	t.askGroup()
	t.callbacks.Add(1)
	t.killTimer = time.AfterFunc(grace, func() {
		defer t.callbacks.Done()
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.exited {
			t.killGroup()
		}
	})
	// This comes last, because it scans all processes.
	t.signalled = t.askStragglers()
}

// ending is the exit of a process in portable terms.
type ending struct {
	code   int
	signal string // the signal that ended the process, or ""
}

// setOutcome sets the outcome of the result.
func (t *task) setOutcome(result *runner.Result, end ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.reason != "":
		result.Outcome = t.reason
	case end.signal != "":
		result.Outcome, result.Signal = runner.Signaled, end.signal
	default:
		result.Outcome, result.ExitCode = runner.Exited, end.code
	}
}

// startFailure is the reason why a task's process could not be started, if that is the
// task's fault.
type startFailure struct {
	outcome runner.Outcome
	detail  string
}

func notFound(format string, args ...any) *startFailure {
	return &startFailure{runner.NotFound, fmt.Sprintf(format, args...)}
}

func notExecutable(format string, args ...any) *startFailure {
	return &startFailure{runner.NotExecutable, fmt.Sprintf(format, args...)}
}
