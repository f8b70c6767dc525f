package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// errGivenUp says that a signal came while something was done that takes long,
// and that is done again when the session is gone on with.
var errGivenUp = errors.New("given up, since a signal came")

// interrupt stops gracefully the first time, and at once the second.
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

// stopped stops at once, since the caller wants no more of the run. The signals
// that made it want that may still wait, and are on record by their names.
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

// untilSignal does what takes as long as the files are large while nothing runs,
// and gives it up, which is errGivenUp, when a signal comes. The work may use the
// session: nothing else is done before it has ended.
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
				return fmt.Errorf("%w: %w", errGivenUp, err)
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
