package process

import (
	"context"
	"fmt"
	"sync"
	"time"

	"prdrunner/runner"
)

// settleTime is how long a process may outlive its task's main process before it
// counts as left over: the tee of a shell's pipeline ends a moment later. It is a
// field of the Executor, for tests on a loaded machine.
const settleTime = 100 * time.Millisecond

// task is one run of a task.
type task struct {
	work     runner.Task
	executor *Executor
	token    string // value of tokenVariable in its processes
	pid      int    // set by start, before anything else sees the task

	process // what the operating system needs to wait for it and to end it

	callbacks sync.WaitGroup // armed timers and context callbacks

	mu        sync.Mutex
	exited    bool           // wait has returned: the main process is no longer signalled from here
	reason    runner.Outcome // why it was stopped: TimedOut, Cancelled, or ""
	killAt    time.Time      // when its grace ends, if it was stopped
	killTimer *time.Timer
	asked     map[int]bool // stragglers that were sent SIGTERM when it was stopped
}

// arm stops the task on its timeout and when ctx is cancelled. The returned
// function ends that; when it returns, no signal is sent by it any more.
func (t *task) arm(ctx context.Context) (disarm func()) {
	t.callbacks.Add(1)
	release := context.AfterFunc(ctx, func() {
		defer t.callbacks.Done()
		t.stop(runner.Cancelled, t.work.Grace)
	})
	var timer *time.Timer
	if t.work.Timeout > 0 {
		t.callbacks.Add(1)
		timer = time.AfterFunc(t.work.Timeout, func() {
			defer t.callbacks.Done()
			t.stop(runner.TimedOut, t.work.Grace)
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

// stop asks the processes of the task to end, and kills them after the grace;
// without a grace at once. The first reason stays.
func (t *task) stop(reason runner.Outcome, grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exited || t.ended() {
		return // how it ended stands, though nobody may have looked yet
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
	// Last, because it takes the longest: those that left the group.
	t.asked = t.askStragglers()
}

// ending is how a process ended, in the terms of every operating system.
type ending struct {
	code   int
	signal string // not empty: ended by it
}

// fill puts the outcome into the result.
func (t *task) fill(result *runner.Result, end ending) {
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

// startFailure is why a task's process could not be started, where that is the
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
