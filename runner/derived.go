package runner

import (
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint"
)

const (
	// derivedTries is how often at least a checkpoint is tried to be written.
	derivedTries = 4
	derivedPause = 100 * time.Millisecond // before the second, and then twice as long each time
	derivedMost  = 10 * time.Second
)

// checkpoint adds a checkpoint to what is recorded next, if the policy has it.
func (l *loop) checkpoint(t checkpoint.Trigger, reason string) {
	l.x.Checkpoint(t, reason, l.git)
}

// settle makes everything durable and writes what is derived from it.
func (l *loop) settle() {
	l.drain()
	if l.fatal == nil {
		l.writeDerived(true)
	}
}

// derive writes the PRD document when its interval has passed.
func (l *loop) derive() {
	if l.fatal == nil {
		l.writeDerived(false)
	}
}

// writeDerived writes checkpoint files and documents. A failure is never
// passed over: it is tried again, and then the configuration decides.
func (l *loop) writeDerived(force bool) {
	err := l.x.WriteDerived(l.ctx, force)
	if err != nil && !l.unwritten {
		err = l.writeAgain(force, err)
	}
	if err == nil {
		return
	}
	first := !l.unwritten
	l.unwritten = true
	if l.o.OnCheckpointError == CheckpointErrorSkip {
		l.skipDerived(force, first, err)
		return
	}
	if first {
		l.warn(fmt.Sprintf("a checkpoint could not be written: %v", err))
		l.cause.derived = err
		l.halt(stopPause)
	}
}

// writeAgain tries a few times more, or, if that is configured, until it
// succeeds or a signal comes.
func (l *loop) writeAgain(force bool, err error) error {
	pause := derivedPause
	for try := 2; err != nil; try++ {
		if try > derivedTries && l.o.OnCheckpointError != CheckpointErrorRetry {
			return err
		}
		if try == derivedTries && l.o.OnCheckpointError == CheckpointErrorRetry {
			l.warn(fmt.Sprintf("a checkpoint can't be written, and is tried again: %v", err))
		}
		if !l.pauseFor(pause) {
			return err
		}
		pause = min(2*pause, derivedMost)
		err = l.x.WriteDerived(l.ctx, force)
	}
	return nil
}

// skipDerived records what is passed over.
func (l *loop) skipDerived(force, first bool, err error) {
	if first {
		l.warn(fmt.Sprintf("a checkpoint could not be written, and is skipped: %v", err))
	}
	var ids []string
	if force {
		ids = l.x.SkipDerived()
	}
	if first || len(ids) > 0 {
		l.add(nil, checkpoint.CheckpointSkipped{IDs: ids, Error: checkpoint.Text(err.Error())})
		l.drain()
	}
}

// pauseFor waits, unless the run is cut short meanwhile. What goroutines report
// is taken in, so that a timeout is heard.
func (l *loop) pauseFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !l.cut() || l.over {
		select {
		case <-timer.C:
			return true
		case f := <-l.events:
			f()
		case name := <-l.o.Interrupts:
			l.interrupt(name)
			if l.over {
				return false
			}
		case <-l.stop:
			l.stop = nil
			l.interrupt("SIGTERM")
			if l.over {
				return false
			}
		}
	}
	return false
}

// readGit reads where git stands, for the checkpoints that come.
func (l *loop) readGit() {
	if l.o.Git == nil {
		return
	}
	head, err := l.o.Git.Head(l.ctx)
	if err != nil {
		l.warn(errors.Join(errors.New("where git stands could not be read"), err).Error())
		return
	}
	l.git = head
}
