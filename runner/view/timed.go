package view

import (
	"sync"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// ticker is a view that also has something to do between the events of a run.
type ticker interface {
	View
	// tick does it, and returns the time until it has to be done again.
	tick() (next time.Duration)
}

// timed is a ticker with a goroutine that calls tick from the beginning of the run on. End and Close
// end the goroutine.
type timed struct {
	first time.Duration // from the beginning to the first tick

	mu   sync.Mutex // of view
	view ticker
	stop func() // ends the goroutine
}

func newTimed(v ticker, first time.Duration) *timed {
	return &timed{first: first, view: v, stop: func() {}}
}

// do has the view do something while no tick runs.
func (t *timed) do(what func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what()
}

// Begin implements runner.View.
func (t *timed) Begin(b runner.Beginning) {
	t.do(func() { t.view.Begin(b) })
	t.stop = repeatedly(t.first, t.tick)
}

func (t *timed) tick() (next time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.tick()
}

// Commit implements runner.View.
func (t *timed) Commit(c state.Commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view.Commit(c)
}

// Warn implements runner.View.
func (t *timed) Warn(message string) { t.do(func() { t.view.Warn(message) }) }

// Stop implements runner.View.
func (t *timed) Stop(s runner.Stopping) { t.do(func() { t.view.Stop(s) }) }

// Await implements runner.View.
func (t *timed) Await(q runner.Awaited) { t.do(func() { t.view.Await(q) }) }

// End implements runner.View.
func (t *timed) End(e runner.Ending) {
	t.stop()
	t.do(func() { t.view.End(e) })
}

// Close implements View.
func (t *timed) Close() {
	t.stop()
	t.do(t.view.Close)
}

// Err implements View.
func (t *timed) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.Err()
}

// repeatedly calls a function in a goroutine, for the first time after a while, and then after
// the time that it returns each time. stop ends that, and waits for a call that runs.
func repeatedly(first time.Duration, do func() (next time.Duration)) (stop func()) {
	timer, done, ended := time.NewTimer(first), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				timer.Reset(do())
			}
		}
	}()
	return sync.OnceFunc(func() {
		timer.Stop()
		close(done)
		<-ended
	})
}
