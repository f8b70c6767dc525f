package runner

import (
	"context"
	"fmt"
	"io"

	"prdrunner/runner/record"
)

// interrupt stops the run gracefully on the first signal, and at once on the second.
func (l *loop) interrupt(name string) {
	if l.cause.signal == "" {
		l.cause.signal = name
		l.halt(stopSignal)
		return
	}
	l.atOnce = true
	l.hurry()
	if c, ok := l.o.Executor.(io.Closer); ok {
		if err := c.Close(); err != nil {
			l.warn(fmt.Sprintf("what runs could not be ended: %v", err))
		}
	}
}

// stopped stops the run at once, since the caller cancelled it. If signals caused that, they
// may not have been received yet: stopped handles them first, so that they are recorded by
// their names.
func (l *loop) stopped() {
	l.stop = nil
	for waiting := true; waiting; {
		select {
		case name := <-l.o.Interrupts:
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

// untilSignal does work whose duration depends on the size of the files, while nothing runs.
// A signal cancels the work, and untilSignal returns record.ErrGivenUp. The work may use the
// session, since the loop does nothing else until the work has ended.
func (l *loop) untilSignal(work func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- work(ctx) }()
	var names []string
	stop := l.stop
	for {
		select {
		case err := <-ended:
			for _, name := range names {
				l.interrupt(name)
			}
			if stop == nil && l.stop != nil {
				l.stopped()
			}
			if err != nil && ctx.Err() != nil {
				return fmt.Errorf("%w: %w", record.ErrGivenUp, err)
			}
			return err
		case name := <-l.o.Interrupts:
			names = append(names, name)
			cancel()
		case <-stop:
			stop = nil
			cancel()
		}
	}
}
