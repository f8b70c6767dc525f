package runner

import (
	"context"
	"fmt"
	"io"
	"time"

	"prdrunner/runner/record"
)

// interrupt stops the run gracefully on the first signal, and at once on the second.
func (l *loop) interrupt(name string) {
	if l.cause.signal == "" {
		l.cause.signal = name
		// Where the second signal is there already, or the run is cancelled, nothing is waited for.
		if len(l.opts.Interrupts) == 0 && l.cancelled != nil {
			l.showStop(Stopping{Signal: name, KillAt: l.opts.Now().Add(l.longestGrace())})
		}
		l.stopNewWork(stopSignal)
		return
	}
	if !l.atOnce {
		l.showStop(Stopping{Signal: name})
	}
	l.atOnce = true
	l.cancelGrace()
	if c, ok := l.opts.Executor.(io.Closer); ok {
		if err := c.Close(); err != nil {
			l.warnUser(fmt.Sprintf("what runs could not be ended: %v", err))
		}
	}
}

// longestGrace returns how long the processes that run have to end.
func (l *loop) longestGrace() time.Duration {
	grace := l.opts.Grace
	for n := range l.calling {
		grace = max(grace, l.opts.Grace+time.Duration(n.ws.CallLevels)*callEndGrace)
	}
	return grace
}

func (l *loop) showStop(s Stopping) {
	for _, v := range l.opts.Views {
		v.Stop(s)
	}
}

// handleCancel stops the run at once, because the caller cancelled it. If signals caused
// the cancellation, the loop may not have received them yet: handleCancel handles them
// first, so that they are recorded by their names.
func (l *loop) handleCancel() {
	l.cancelled = nil
	for waiting := true; waiting; {
		select {
		case name := <-l.opts.Interrupts:
			l.interrupt(name)
		default:
			waiting = false
		}
	}
	if l.cause.signal == "" {
		l.interrupt("SIGTERM")
	}
	l.interrupt("SIGTERM")
}

// runUntilSignal does work whose duration depends on the size of the files, while no task
// runs. A signal cancels the work, and runUntilSignal returns record.ErrGivenUp. The work
// may use the session, because the loop waits until the work has ended.
func (l *loop) runUntilSignal(work func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- work(ctx) }()
	var names []string
	stop := l.cancelled
	for {
		select {
		case err := <-ended:
			for _, name := range names {
				l.interrupt(name)
			}
			if stop == nil && l.cancelled != nil {
				l.handleCancel()
			}
			if err != nil && ctx.Err() != nil {
				return fmt.Errorf("%w: %w", record.ErrGivenUp, err)
			}
			return err
		case name := <-l.opts.Interrupts:
			names = append(names, name)
			cancel()
		case <-stop:
			stop = nil
			cancel()
		}
	}
}

// decideUnwritten asks the user what to do about a failure. Meanwhile it handles the
// reports of other goroutines. If it can't ask, the configuration decides.
func (l *loop) decideUnwritten(problem string) record.OnFailure {
	if l.opts.Asker == nil || l.prompting() {
		return l.opts.OnCheckpointError
	}
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	answers := make(chan record.OnFailure, 1)
	go func() {
		decision, failed := l.opts.Asker.Unwritten(ctx, problem)
		if failed != nil {
			decision = l.opts.OnCheckpointError
		}
		answers <- decision
	}()
	for {
		select {
		case decision := <-answers:
			return decision
		case f := <-l.events:
			f()
		case name := <-l.opts.Interrupts:
			l.interrupt(name)
			cancel()
			<-answers
			return record.Pause
		case <-l.cancelled:
			l.handleCancel()
			cancel()
			<-answers
			return record.Pause
		}
	}
}

// waitFor waits for the given time, and reports whether that time has passed. It returns
// early if running tasks are cancelled. It handles the reports of other goroutines, so
// that a timeout of the session ends the wait.
func (l *loop) waitFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !l.tasksCancelled() || l.concluding {
		select {
		case <-timer.C:
			return true
		case f := <-l.events:
			f()
		case name := <-l.opts.Interrupts:
			l.interrupt(name)
			if l.concluding {
				return false
			}
		case <-l.cancelled:
			l.handleCancel()
			if l.concluding {
				return false
			}
		}
	}
	return false
}
