// Package record takes the events of a run to the disk.
//
// An event goes this way:
//
//	Add → Commit or Flush → journal (one write and one fsync) → Acknowledge → Run.Show
//
// Add puts events into the session's pending commit. Commit decides when that commit goes to
// the journal, so that several boundaries share one fsync. The session writes it in another
// goroutine and sends an acknowledgement. Acknowledge then shows the commit and calls the
// functions that waited for it. Drain does all of this at once and waits.
//
// Checkpoint files and the PRD document are derived from the journal: WriteAll and
// WriteDocument write them (derived.go). A part of a checkpoint that can't be written is
// never ignored: Write tries again, and then the user or the configuration decides (part.go).
//
// Which events are recorded, and what a failure means for the run, is decided in package
// runner. Begin with Recorder.
package record

import (
	"context"
	"errors"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

const (
	// maxWaiting bounds the functions that wait for a commit, and so the boundaries that
	// are not yet durable.
	maxWaiting = 64
	// commitWindow is how long a boundary that nothing waits for may wait for others, so
	// that several share one fsync.
	commitWindow = 5 * time.Millisecond
)

// Recorder records the events of a run in a session, and writes the files that are derived
// from them. One goroutine, the one that owns the run, calls its methods.
type Recorder struct {
	ctx     context.Context
	session *checkpoint.Session
	run     Run

	backlog  []continuation // in the order of seq
	window   *time.Timer    // ends the commit window
	windowed bool           // the commit window is open
	broken   error          // why the journal can no longer be written

	holding bool           // commits are shown only after their checkpoint files are written
	held    []state.Commit // the commits that wait for their checkpoint files

	unwritten bool      // a part of a checkpoint could not be written, and decision applies
	decision  OnFailure // about all parts that can't be written from then on
}

// continuation is a function that waits until a commit is durable.
type continuation struct {
	seq uint64
	run func()
}

// Run is what a Recorder needs of the run. All fields are required. The Recorder calls the
// functions in the goroutine that called its method.
type Run struct {
	// Slots says whether work will end soon, whose events may share a commit.
	Slots Slots
	// Show passes a durable commit to the views. Commits come in the order of their seq.
	Show func(state.Commit)
	// Warn shows a message to the user.
	Warn func(message string)
	// Broken is called when the journal can no longer be written. It may be called again.
	Broken func()
	// Unwritten is called once, when a part of a checkpoint could not be written and is not
	// skipped. The run must pause.
	Unwritten func(error)
	// Decide returns what to do about a part that could not be written. It may ask the user.
	Decide func(problem string) OnFailure
	// Wait waits before the next attempt to write a part. It reports false if the run ended
	// the wait early.
	Wait func(time.Duration) bool
}

// Slots are the slots in which the work of a run is done.
type Slots interface {
	// Queued reports whether work waits for a slot.
	Queued() bool
	// Busy reports whether work has a slot.
	Busy() bool
}

// New returns a recorder of the events of a run. ctx is that of all writing: it must not be
// cancelled when the run is, since a run that ends is recorded.
func New(ctx context.Context, session *checkpoint.Session, run Run) *Recorder {
	window := time.NewTimer(commitWindow)
	window.Stop()
	return &Recorder{ctx: ctx, session: session, run: run, window: window}
}

// Err returns why the journal can no longer be written, nil if it can.
func (r *Recorder) Err() error { return r.broken }

// Waiting reports whether functions wait for a commit.
func (r *Recorder) Waiting() bool { return len(r.backlog) > 0 }

// Full reports whether so many functions wait for a commit that the run must start no
// further work.
func (r *Recorder) Full() bool { return len(r.backlog) >= maxWaiting }

// Window returns a channel that receives when the commit window ends. The run must then call
// Flush.
func (r *Recorder) Window() <-chan time.Time { return r.window.C }

// Acks returns a channel of acknowledgements. The run must pass each to Acknowledge.
func (r *Recorder) Acks() <-chan checkpoint.Ack { return r.session.Acks() }

// Add records events, and calls then (unless nil) once these and all earlier events are
// durable. It calls then at once if they are durable already, and never after the journal
// could not be written.
func (r *Recorder) Add(then func(), events ...state.Event) {
	seq := r.session.Add(events...)
	switch {
	case then == nil || r.broken != nil:
	case seq <= r.session.Durable():
		then()
	default:
		r.backlog = append(r.backlog, continuation{seq: seq, run: then})
	}
}

// Commit hands pending events to the journal, at once or at the end of the commit window. It
// waits for the window while work is queued and slots are in use, and if the window is open
// and no function waits for a commit. It does not wait if the recorder is full. The window
// lets the start of short work share a line of the journal with its end.
func (r *Recorder) Commit() {
	if r.broken != nil || !r.session.Pending() {
		return
	}
	starved := !r.run.Slots.Queued() || !r.run.Slots.Busy()
	if starved && (r.Waiting() || !r.windowed) || r.Full() {
		r.Flush()
		return
	}
	r.openWindow()
}

// openWindow starts the commit window, in which events wait for others.
func (r *Recorder) openWindow() {
	if !r.windowed {
		r.windowed = true
		r.window.Reset(commitWindow)
	}
}

// Flush hands pending events to the journal and closes the commit window.
func (r *Recorder) Flush() {
	r.windowed = false
	r.window.Stop()
	r.session.Flush()
}

// Acknowledge shows a commit that is now durable, and calls the functions that waited for it.
func (r *Recorder) Acknowledge(a checkpoint.Ack) {
	c, err := r.session.Acknowledge(a)
	if err != nil {
		r.breakOff(err)
		return
	}
	if !r.run.Slots.Queued() { // the functions may start work that ends soon
		r.openWindow()
	}
	r.Deliver(c)
}

// Deliver shows a durable commit, and calls the functions that waited for it.
func (r *Recorder) Deliver(c state.Commit) {
	r.show(c)
	for len(r.backlog) > 0 && r.backlog[0].seq <= c.Seq {
		next := r.backlog[0]
		r.backlog = r.backlog[1:]
		next.run()
	}
}

// Drain makes all events durable, including events that are added meanwhile. It handles each
// commit before it receives the next. Views therefore get commits in order, even if a
// function that waited for a commit calls Drain, too.
func (r *Recorder) Drain() {
	for r.broken == nil && r.session.Unacknowledged() {
		r.session.Flush()
		r.Acknowledge(<-r.session.Acks())
	}
	if r.broken != nil {
		return
	}
	if _, err := r.session.Drain(r.ctx); err != nil { // nothing is pending, but the session may be poisoned
		r.breakOff(err)
	}
}

// Check reports whether the journal can still be written. If err says that it can't, the
// recorder records nothing from then on.
func (r *Recorder) Check(err error) bool {
	if r.lost(err) {
		r.breakOff(err)
		return false
	}
	return true
}

// lost reports whether the journal can no longer be written, so that another attempt is
// useless.
func (r *Recorder) lost(err error) bool {
	var poisoned *checkpoint.PoisonedError
	return r.broken != nil || errors.As(err, &poisoned)
}

// breakOff ends the recording, since the journal could not be written.
func (r *Recorder) breakOff(err error) {
	if r.broken == nil {
		r.broken = err
	}
	r.backlog = nil
	r.run.Broken()
}
