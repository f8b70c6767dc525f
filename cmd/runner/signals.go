package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"prdrunner/checkpoint"
)

const (
	// unwindGrace is how long a command may take, once it is asked to end, to
	// take back what it has begun. What it leaves then, the next command finishes.
	unwindGrace = 5 * time.Second
	// tellGrace is how long it may take to say so, where nobody may be reading.
	tellGrace = time.Second
)

// signals asks what a command does to end, when a signal asks the process to:
// the first time with the context that catch returns, and at once the second
// time, or with SIGQUIT. A run, to which they are handed over, acts on them
// itself. The zero value hears of none.
type signals struct {
	mu     sync.Mutex
	first  string                  // the name of the first, "": there was none
	doing  string                  // the command that does what is left
	cancel context.CancelFunc      // nil: it has been called
	atOnce func(name, what string) // says what is interrupted, and ends the process
	run    *runSignals             // nil: no run is on
}

// runSignals are those that come while a run is on.
type runSignals struct {
	// names delivers each: the first asks for a graceful stop, the second for
	// one at once. SIGQUIT counts as two.
	names  chan string
	count  int
	second func()
}

// catch begins to catch the signals that ask a process to end, and goes on until
// it has ended.
func (s *signals) catch(ctx context.Context, atOnce func(name, what string)) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	s.cancel, s.atOnce = cancel, atOnce
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	// A terminal that goes away is no reason to kill what runs. One who ignores
	// that, as nohup does, wants the command to go on.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	go func() {
		for sig := range caught {
			s.take(sig)
		}
	}()
	return ctx
}

// take acts on a signal.
func (s *signals) take(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := signalName(sig)
	if s.first == "" {
		s.first = name
	}
	switch {
	case s.run != nil:
		s.run.take(name)
	case s.cancel == nil || name == "SIGQUIT":
		s.atOnce(name, s.said(name, ""))
	default:
		s.cancel()
		s.cancel = nil
		time.AfterFunc(unwindGrace, func() { s.set(func() { s.atOnce(name, s.said(name, "")) }) })
	}
}

// take delivers a signal to a run, unless two are waiting already.
func (r *runSignals) take(name string) {
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

// handOver hands the signals to a run, which acts on both; second is called when
// the second comes. When the run has ended, they are given back.
func (s *signals) handOver(second func()) (names <-chan string, back func()) {
	// A reader of our output that goes away must not end the run silently: the
	// write fails instead, and the view says so.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	run := &runSignals{names: make(chan string, 2), second: second}
	s.set(func() { s.run = run })
	return run.names, func() {
		signal.Stop(pipes)
		s.set(func() { s.run = nil })
	}
}

// does says which command does what is left, should this one be interrupted; ""
// where nothing is.
func (s *signals) does(command string) { s.set(func() { s.doing = command }) }

func (s *signals) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// interrupted makes the error of a command that a signal ended one that says so,
// and that has been shown.
func (s *signals) interrupted(env *environment, err error) error {
	s.mu.Lock()
	name := s.first
	what := s.said(name, env.localize(unwound(err)))
	s.mu.Unlock()
	if name == "" || !fromSignal(err) {
		return err
	}
	fmt.Fprintln(env.stderr, what)
	return &endedError{signal: name}
}

// fromSignal reports whether a signal, which came, can be why a command failed.
// What the command found to be wrong, or left so, is to be known all the same.
func fromSignal(err error) bool {
	var rollback *checkpoint.RollbackError
	switch {
	case silent(err), isA[*checkpoint.PoisonedError](err), errors.As(err, &rollback) && !rollback.Undone:
		return false
	case errors.Is(err, context.Canceled):
		return true
	}
	// A terminal sends its signals to git, too, which then says anything.
	_, known := knownCode(err)
	return !known
}

// unwound is what an error says of where a command was interrupted.
func unwound(err error) string {
	if err == nil {
		return ""
	}
	canceled := context.Canceled.Error()
	what := strings.ReplaceAll(strings.ReplaceAll(err.Error(), ": "+canceled, ""), "\n", "; ")
	if what == canceled {
		return ""
	}
	return " (" + what + ")"
}

// said tells of an interruption in one line. The caller holds s.mu.
func (s *signals) said(name, where string) string {
	line := "Interrupted by " + name + where
	if s.doing != "" {
		line += fmt.Sprintf(": `%s` does the rest", s.doing)
	}
	return line
}

// endAtOnce ends the process, having said why, if anybody listens.
func endAtOnce(env *environment, name, what string) {
	told := make(chan struct{})
	go func() {
		fmt.Fprintln(env.stderr, what)
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(tellGrace):
	}
	os.Exit(endedCode(&endedError{signal: name}))
}

func signalName(sig os.Signal) string {
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
