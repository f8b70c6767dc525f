package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// unwindGrace is how long a command may take to undo what it has begun, after it is asked
// to end. The next command finishes the rest.
const unwindGrace = 5 * time.Second

// Signals ends the command when a signal asks this process to end. The first signal
// cancels the context that catch returned. The second, or SIGQUIT, ends the process at
// once. While a run is on, the signals are handed over to it, and it acts on them itself.
// The zero value receives no signals.
type Signals struct {
	mu           sync.Mutex
	first        string                  // name of the first signal, "" if there was none
	continuation string                  // the command that would do the rest
	unchanged    bool                    // the command has changed nothing yet: there is no rest
	cancel       context.CancelFunc      // nil after it was called
	atOnce       func(name, what string) // prints the message what, and ends the process
	run          *runSignals             // nil if no run is on
	restore      func()                  // leaves the terminal as it was; nil: nothing has changed it
}

// runSignals holds the signals that arrive during a run.
type runSignals struct {
	// names delivers the name of each signal. The first asks for a graceful stop, the
	// second for an immediate one. SIGQUIT counts as two.
	names  chan string
	count  int
	second func()
}

// Catch starts to catch the signals that ask a process to end, for the rest of the
// process's life. The first signal cancels the returned context. atOnce ends the process.
func (s *Signals) Catch(ctx context.Context, atOnce func(name, what string)) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	s.cancel, s.atOnce = cancel, atOnce
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	// A terminal that goes away must not kill the run. A user who ignores SIGHUP, as nohup
	// does, wants the command to continue.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	go func() {
		for sig := range caught {
			s.handleSignal(sig)
		}
	}()
	return ctx
}

// handleSignal acts on a signal: it hands the signal to the run, cancels the context, or
// ends the process.
func (s *Signals) handleSignal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := SignalName(sig)
	if s.first == "" {
		s.first = name
	}
	switch {
	case s.run != nil:
		s.run.deliver(name)
	case s.cancel == nil || name == "SIGQUIT":
		s.endAtOnce(name)
	default:
		s.cancel()
		s.cancel = nil
		time.AfterFunc(unwindGrace, func() { s.withLock(func() { s.endAtOnce(name) }) })
	}
}

// endAtOnce leaves the terminal as it was, and ends the process. The caller holds s.mu.
func (s *Signals) endAtOnce(name string) {
	if s.restore != nil {
		s.restore()
	}
	s.atOnce(name, s.interruptionLine(name, ""))
}

// RestoreWith sets what leaves the terminal as it was if a signal ends the process at once, nil for nothing.
// Signals calls restore in a goroutine of its own.
func (s *Signals) RestoreWith(restore func()) { s.withLock(func() { s.restore = restore }) }

// deliver delivers a signal to a run, unless two signals wait already.
func (r *runSignals) deliver(name string) {
	before := r.count
	r.count++
	if name == "SIGQUIT" {
		r.count++
	}
	for range r.count - before {
		select {
		case r.names <- name:
		default:
		}
	}
	if before < 2 && r.count >= 2 {
		r.second()
	}
}

// HandOver hands the signals over to a run, which acts on both. It returns their names, and
// a context that the second signal cancels. The caller calls release when the run has
// ended.
func (s *Signals) HandOver(ctx context.Context) (_ context.Context, names <-chan string, release func()) {
	// If the reader of Runner's output goes away, SIGPIPE must not end the run silently:
	// the write fails instead, and the view reports it.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	run := &runSignals{names: make(chan string, 2), second: cancel}
	s.withLock(func() { s.run = run })
	return ctx, run.names, func() {
		cancel()
		signal.Stop(pipes)
		s.withLock(func() { s.run = nil })
	}
}

// ResumeWith sets the command that would do the rest if this one is interrupted, "" for
// none.
func (s *Signals) ResumeWith(command string) { s.withLock(func() { s.continuation = command }) }

// Unchanged says whether the command has changed nothing yet, so that an interruption leaves nothing to do.
func (s *Signals) Unchanged(so bool) { s.withLock(func() { s.unchanged = so }) }

func (s *Signals) withLock(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Interruption returns the name of the first signal, "" if there was none, and the line
// that reports it. where describes the place at which the command was interrupted.
func (s *Signals) Interruption(where string) (name, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, s.interruptionLine(s.first, where)
}

// interruptionLine returns the line that reports an interruption. The caller holds s.mu.
func (s *Signals) interruptionLine(name, where string) string {
	line := "Interrupted by " + name + where
	switch {
	case s.unchanged:
		return line + ": nothing was started, and the session has not changed"
	case s.continuation != "":
		return line + fmt.Sprintf(": `%s` does the rest", s.continuation)
	}
	return line
}

// SignalName returns the name of a signal, as messages and records have it.
func SignalName(sig os.Signal) string {
	switch sig {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	default:
		return "SIGINT"
	}
}
