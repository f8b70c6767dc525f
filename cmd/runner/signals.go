package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// unwindGrace is how long a command may take, once it is asked to end, to take
// back what it has begun. What it leaves then, the next command finishes.
const unwindGrace = 5 * time.Second

// signals asks what a command does to end, when a signal asks the process to:
// the first time with the context that catch returns, and at once the second
// time, or with SIGQUIT. A run, to which they are handed over, acts on them
// itself. The zero value hears of none.
type signals struct {
	mu     sync.Mutex
	first  string             // the name of the first, "": there was none
	doing  string             // the command that does what is left
	cancel context.CancelFunc // nil: it has been called
	atOnce func(name string)  // ends the process
	run    *runSignals        // nil: no run is on
}

// runSignals are those that come while a run is on.
type runSignals struct {
	// names delivers each: the first asks for a graceful stop, the second for
	// one at once. SIGQUIT counts as two.
	names  chan string
	count  int
	second func()
}

// catch begins to catch the signals that ask a process to end.
func (s *signals) catch(ctx context.Context, atOnce func(name string)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.cancel, s.atOnce = cancel, atOnce
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	// A terminal that goes away is no reason to kill what runs. One who ignores
	// that, as nohup does, wants the command to go on.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case sig := <-caught:
				s.take(sig)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		close(done)
		<-ended
		cancel()
	}
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
		s.atOnce(name)
	default:
		s.cancel()
		s.cancel = nil
		time.AfterFunc(unwindGrace, func() { s.set(func() { s.atOnce(name) }) })
	}
}

// take delivers a signal to a run, unless two are waiting already.
func (r *runSignals) take(name string) {
	r.count++
	tell := func() {
		select {
		case r.names <- name:
		default:
		}
	}
	tell()
	switch {
	case name == "SIGQUIT":
		tell()
	case r.count == 2:
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

// does says which command does what is left, should this one be interrupted.
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
	defer s.mu.Unlock()
	if s.first == "" || silent(err) || !errors.Is(err, context.Canceled) {
		return err
	}
	what := strings.ReplaceAll(strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error()), "\n", "; ")
	s.tell(env, s.first, " ("+env.localize(what)+")")
	return &endedError{signal: s.first}
}

// tell tells of an interruption in one line. The caller holds s.mu.
func (s *signals) tell(env *environment, name, what string) {
	fmt.Fprintf(env.stderr, "Interrupted by %s%s: `%s` again does what is left to do\n", name, what, cmp.Or(s.doing, "runner"))
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
