package runner

import "time"

// turn says who owns the loop: who has it may touch the loop and what it points to.
//
// The goroutine that runs the loop gives the turn away only while it awaits what
// happens. Then whoever has ended a task takes it, records that end, starts what
// comes next, and does one of that itself: else each end would wake the loop's
// goroutine, and each start another one, most often each on a thread of its own.
//
// Who must wait for something within the turn has drained before, and so is alone.
type turn struct {
	held     chan struct{} // full while somebody has the turn
	finished func() bool   // ends the cycle

	lent bool // somebody beside the loop has the turn, and the loop's goroutine awaits what happens
	own  job  // what that one starts itself

	aside  chan struct{}  // has the loop's goroutine wait for the turn alone
	handed chan happening // what it has taken in before
	late   []func()       // reports among that: they are for when nobody waits within the turn
}

// job is what a goroutine beside the loop does. It returns what that one does next,
// nil for nothing.
type job func() job

// happening is something to be done by who has the turn.
type happening struct {
	do   func()
	kind happeningKind
}

// happeningKind says when something is done that was taken in while somebody else
// waits within the turn.
type happeningKind int

const (
	notice happeningKind = iota // at once
	report                      // of a goroutine, which may lead to anything: afterwards
	tick                        // not at all, since the next one comes
)

// newTurn returns the turn of a loop that has it.
func newTurn() turn {
	held := make(chan struct{}, 1)
	held <- struct{}{}
	return turn{held: held, aside: make(chan struct{}), handed: make(chan happening)}
}

// await gives the turn away until something happens that is for the loop's goroutine,
// and does that with the turn again.
func (l *loop) await(inbox <-chan time.Time) {
	if len(l.turn.late) > 0 {
		l.takeLate()
		return
	}
	stop := l.stop
	<-l.turn.held
	var h happening
	select {
	case f := <-l.events:
		h = happening{f, report}
	case a := <-l.x.Acks():
		h.do = func() { l.acknowledge(a) }
	case <-l.window.C:
		h.do = func() { l.flush() }
	case name := <-l.o.Interrupts:
		h.do = func() { l.interrupt(name) }
	case <-inbox:
		h = happening{l.requests, tick}
	case <-stop:
		h.do = l.stopped
	case <-l.turn.aside:
		h.do = func() {}
	}
	select {
	case l.turn.held <- struct{}{}:
		h.do()
		return
	case l.turn.handed <- h:
	}
	for {
		select {
		case l.turn.held <- struct{}{}:
			return
		case <-l.turn.aside: // of another one, who took the turn meanwhile: nothing is taken in here
		}
	}
}

// takeTurn does what comes of a task, and what follows from it, and returns what is
// left to be started. Where the turn is somebody else's, all is left to the loop.
func (l *loop) takeTurn(then func()) job {
	select {
	case l.turn.held <- struct{}{}:
	default:
		l.events <- then
		return nil
	}
	l.turn.lent = true
	then()
	wake := !l.progress() || len(l.turn.late) > 0
	own := l.turn.own
	l.turn.lent, l.turn.own = false, nil
	<-l.turn.held
	if wake {
		l.events <- func() {}
	}
	return own
}

// alone has nobody else take in what happens until the turn is given away, for who
// waits for some of it. Until then it would wait in vain for what the loop's goroutine
// has taken in, and what that one starts itself would wait for it.
func (l *loop) alone() {
	if !l.turn.lent {
		return
	}
	own := l.turn.own
	l.turn.lent, l.turn.own = false, nil
	if own != nil {
		l.beside(own)
	}
	select {
	case l.turn.aside <- struct{}{}:
	case h := <-l.turn.handed:
		switch h.kind {
		case notice:
			h.do()
		case report:
			l.turn.late = append(l.turn.late, h.do)
		case tick:
		}
	}
}

// takeLate does what was reported to somebody who could not wait for it.
func (l *loop) takeLate() {
	for len(l.turn.late) > 0 {
		f := l.turn.late[0]
		l.turn.late = l.turn.late[1:]
		f()
	}
}

// beside has a job done by who has the turn, afterwards, if that is somebody beside
// the loop and nothing else is started: what is started first does not wait for what is
// started later. Else it is done at once, by a goroutine that has nothing to do, whose
// stack has grown to what such work takes, or by a new one. They end with the crew.
func (l *loop) beside(j job) {
	if l.turn.lent {
		j, l.turn.own = l.turn.own, j
	}
	if j == nil {
		return
	}
	select {
	case l.crew <- j:
	default:
		go func() {
			j.do()
			for next := range l.crew {
				next.do()
			}
		}()
	}
}

// do does a job, and what it leads to.
func (j job) do() {
	for j != nil {
		j = j()
	}
}
