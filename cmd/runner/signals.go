package main

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// signals passes the signals that end a run on to it, by name.
type signals struct {
	// names delivers each of them: the first asks for a graceful stop, the
	// second for one at once. SIGQUIT counts as two.
	names chan string
	stop  func()
	first atomic.Value // the first name
}

// catchSignals begins to catch; second is called, once, when a second signal
// asks to stop at once.
func catchSignals(second func()) *signals {
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	// A terminal that goes away is no reason to kill what runs. One who ignores
	// that, as nohup does, wants the run to go on.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
	// A reader of our output that goes away must not end the run silently: the
	// write fails instead, and the view says so.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	s := &signals{names: make(chan string, 2)}
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for count := 1; ; count++ {
			select {
			case sig := <-caught:
				s.first.CompareAndSwap(nil, signalName(sig))
				s.tell(sig)
				if sig == syscall.SIGQUIT {
					s.tell(sig)
					continue
				}
				if count == 2 {
					second()
				}
			case <-done:
				return
			}
		}
	}()
	s.stop = func() {
		signal.Stop(caught)
		signal.Stop(pipes)
		close(done)
		<-ended
	}
	return s
}

// tell delivers a signal, unless two are waiting already.
func (s *signals) tell(sig os.Signal) {
	select {
	case s.names <- signalName(sig):
	default:
	}
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
