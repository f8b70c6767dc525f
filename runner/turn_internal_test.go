package runner

import (
	"slices"
	"testing"

	"prdrunner/checkpoint"
)

// awaited is a loop whose goroutine awaits what happens, while somebody beside it,
// the test, has the turn.
type awaited struct {
	*draining
	signals chan string
	over    chan struct{}
}

func newAwaited(t *testing.T) *awaited {
	t.Helper()
	a := &awaited{draining: newDraining(t), signals: make(chan string), over: make(chan struct{})}
	a.events, a.crew, a.o.Interrupts = make(chan func()), make(chan job), a.signals
	go func() {
		defer close(a.over)
		a.await(nil)
	}()
	a.turn.held <- struct{}{}
	a.turn.lent = true
	t.Cleanup(func() { close(a.crew) })
	return a
}

// giveBack lets the loop's goroutine have the turn again.
func (a *awaited) giveBack() {
	<-a.turn.held
	<-a.over
}

// TestDrainBesideTheLoop has what a drain waits for reach the loop's goroutine, which
// waits for the turn of who drains.
func TestDrainBesideTheLoop(t *testing.T) {
	t.Parallel()
	l := newAwaited(t)
	l.add(nil, checkpoint.PhaseStarted{Phase: "all"})
	l.x.Flush()
	l.add(nil, checkpoint.WorkstreamStarted{Workstream: "a", Attempt: 1})
	l.drain()
	if want := []uint64{2, 3}; !slices.Equal(l.shown, want) || l.x.Unacknowledged() {
		t.Errorf("shown %d, want %d; with something left: %t", l.shown, want, l.x.Unacknowledged())
	}
	l.giveBack()
}

// TestReportsWaitForTheTurn has a goroutine report to the loop while somebody beside
// it is about to wait within the turn, where nobody expects what a report may do.
func TestReportsWaitForTheTurn(t *testing.T) {
	t.Parallel()
	l := newAwaited(t)
	done := false
	l.events <- func() { done = true } // which returns when the loop has taken it in
	l.alone()
	if done {
		t.Error("it was done within the turn of another")
	}
	l.giveBack()
	if done {
		t.Error("it was done twice, or by nobody who awaits what happens")
	}
	l.await(nil)
	if !done {
		t.Error("it is lost")
	}
}

// TestSignalsDoNotWaitForTheTurn has a signal reach the loop likewise: who waits
// within the turn knows of it before.
func TestSignalsDoNotWaitForTheTurn(t *testing.T) {
	t.Parallel()
	l := newAwaited(t)
	l.signals <- "SIGTERM"
	l.alone()
	if l.cause.signal != "SIGTERM" || l.status != stopSignal {
		t.Errorf("the signal is %q, and the run is stopped for %d", l.cause.signal, l.status)
	}
	l.giveBack()
}

// TestJobsDoNotWaitForTheTurn has who has the turn start several tasks, and then wait
// for something: others start them.
func TestJobsDoNotWaitForTheTurn(t *testing.T) {
	t.Parallel()
	l := newAwaited(t)
	began := make(chan int)
	start := func(i int) {
		l.beside(func() job {
			began <- i
			return nil
		})
	}
	start(0)
	if l.turn.own == nil {
		t.Error("another goroutine starts it at once")
	}
	start(1)
	if got := <-began; got != 0 {
		t.Errorf("%d is started before the first", got)
	}
	l.alone()
	if got := <-began; got != 1 {
		t.Errorf("%d is started, want 1", got)
	}
	l.giveBack()
}
