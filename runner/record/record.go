// Package record takes the events of a run to the disk.
//
// An event goes this way:
//
//	Add → Commit or Flush → journal (one write and one fsync) → Acknowledge → Run.Show
//
// Add puts events into the session's pending commit. Commit decides when that commit
// goes to the journal, so that several boundaries share one fsync. The session writes it
// in another goroutine and sends an acknowledgement. Acknowledge then shows the commit
// and calls the functions that waited for it. Drain does all of this at once and waits.
//
// Checkpoint files and the PRD document are derived from the journal: WriteAll and
// WriteDocument write them (derived.go). A part of a checkpoint that can't be written is
// never ignored: Write tries again, and then the user or the configuration decides
// (part.go).
//
// Package runner decides which events are recorded, and how a failure affects the run.
// Begin with Recorder.
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

// Recorder records the events of a run in a session, and writes the files that are
// derived from them. Only the goroutine of the run loop calls its methods.
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

	unwritten bool      // a part of a checkpoint could not be written, so decision is set
	decision  OnFailure // about all later parts that can't be written
}

// continuation is a function that waits until a commit is durable.
type continuation struct {
	seq uint64
	run func()
}

// Run is what a Recorder needs of the run. All fields are required. The Recorder calls the
// functions in the goroutine that called its method.
type Run struct {
	// Slots says whether work will soon end: then its events may share a commit.
	Slots Slots
	// Show passes a durable commit to the views. Commits come in the order of their seq.
	Show func(state.Commit)
	// Warn shows a message to the user.
	Warn func(message string)
	// Broken is called when the journal can no longer be written. It may be called again.
	Broken func()
	// Unwritten tells the run to pause, since a part of a checkpoint could not be written
	// and is not skipped. The Recorder calls it once.
	Unwritten func(error)
	// Decide says whether to retry, to skip or to pause after a part could not be
	// written. It may ask the user.
	Decide func(problem string) OnFailure
	// Wait waits before the next attempt to write a part. It returns false if the run
	// ended the wait early.
	Wait func(time.Duration) bool
}

// Slots are the slots in which the work of a run is done.
type Slots interface {
	// Queued reports whether work waits for a slot.
	Queued() bool
	// Busy reports whether work has a slot.
	Busy() bool
}

// New returns a recorder of the events of a run. ctx is used for all writing. It must not
// be cancelled together with the run, since the end of the run is recorded, too.
func New(ctx context.Context, session *checkpoint.Session, run Run) *Recorder {
	window := time.NewTimer(commitWindow)
	window.Stop()
	return &Recorder{ctx: ctx, session: session, run: run, window: window}
}

// Err returns why the journal can no longer be written, or nil.
func (r *Recorder) Err() error { return r.broken }

// Waiting reports whether functions wait for a commit.
func (r *Recorder) Waiting() bool { return len(r.backlog) > 0 }

// Full reports whether so many functions wait for a commit that the run must start no
// further work.
func (r *Recorder) Full() bool { return len(r.backlog) >= maxWaiting }

// Window returns a channel that receives when the commit window ends. The run must then
// call Flush.
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

// Commit hands pending events to the journal, at once or at the end of the commit window.
// It waits for the window in two cases: work is queued and slots are in use, or the
// window is open and no function waits for a commit. It does not wait if the recorder is
// full. Thanks to the window, the start and the end of short work share a line of the
// journal.
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

// openWindow starts the commit window, in which events wait for later ones to share their
// commit.
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

// Acknowledge shows a commit that is now durable, and calls the functions that waited
// for it.
func (r *Recorder) Acknowledge(a checkpoint.Ack) {
	c, err := r.session.Acknowledge(a)
	if err != nil {
		r.stopRecording(err)
		return
	}
	if !r.run.Slots.Queued() { // the functions may start work that ends soon
		r.openWindow()
	}
	r.Deliver(c)
}

// Deliver shows a durable commit, and calls the functions that waited for it.
func (r *Recorder) Deliver(c state.Commit) {
	r.showOrHold(c)
	for len(r.backlog) > 0 && r.backlog[0].seq <= c.Seq {
		next := r.backlog[0]
		r.backlog = r.backlog[1:]
		next.run()
	}
}

// Drain makes all events durable, including events that are added meanwhile. It handles
// each commit before it receives the next. Views therefore get commits in order, even if
// a function that waited for a commit calls Drain, too.
func (r *Recorder) Drain() {
	for r.broken == nil && r.session.Unacknowledged() {
		r.session.Flush()
		r.Acknowledge(<-r.session.Acks())
	}
	if r.broken != nil {
		return
	}
	if _, err := r.session.Drain(r.ctx); err != nil { // nothing is pending, but the session may be poisoned
		r.stopRecording(err)
	}
}

// Check reports whether the journal is writable. If err says that it is not, the recorder
// stops recording.
func (r *Recorder) Check(err error) bool {
	if r.journalBroken(err) {
		r.stopRecording(err)
		return false
	}
	return true
}

// journalBroken reports whether the journal can no longer be written, according to err or
// to an earlier error.
func (r *Recorder) journalBroken(err error) bool {
	var poisoned *checkpoint.PoisonedError
	return r.broken != nil || errors.As(err, &poisoned)
}

// stopRecording ends the recording, because the journal could not be written.
func (r *Recorder) stopRecording(err error) {
	if r.broken == nil {
		r.broken = err
	}
	r.backlog = nil
	r.run.Broken()
}
