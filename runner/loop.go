package runner

import (
	"context"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
	"prdrunner/runner/schedule"
	"prdrunner/runner/survey"
)

const (
	// maxUnacknowledged bounds the boundaries that are not yet durable. A slot is free
	// when its process ends, before the commit of that end.
	maxUnacknowledged = 64
	// commitWindow is how long a boundary that nothing waits for may wait for others, so
	// that several share one fsync.
	commitWindow = 5 * time.Millisecond
	// inboxInterval is how often the loop reads requests of other commands.
	inboxInterval = 100 * time.Millisecond
)

// loop runs a session.
//
// One goroutine, the caller of Build, owns the loop and everything it points to.
// Other goroutines run tasks, look at files or ask a person; they read nothing of the
// loop that changes, and report by sending a function to events, which the owner calls.
//
// Work that is not finished is in exactly one of these places: slots holds what waits for
// a slot, has one or waits for a retry, asked what waits for a person, and backlog what
// waits for the journal. A cycle ends when its goal is reached or when all but asked are
// empty, so removing an entry must end the workstream or gate that it belongs to.
type loop struct {
	o     Options
	p     *pipeline.Pipeline
	x     *checkpoint.Session
	sv    *survey.Surveyor
	files *workspace.Workspace
	facts *plan.Facts
	pl    *plan.Planner
	began time.Time
	ran   time.Time // when the session was started or resumed
	git   *checkpoint.Git

	finder func() *findings.Finder // finds errors in an output; compiled at the first failure

	recordedFiles *recordedFiles

	overwriting overwriting

	ctx   context.Context    // of tasks; they are cancelled through slots, never through ctx
	grace context.Context    // of recording what has ended; cancelled when the run must end at once
	hurry context.CancelFunc // cancels grace
	stop  <-chan struct{}    // closed when the caller cancels the run

	phase    *phaseRun
	slots    *schedule.Scheduler
	asked    map[string]*question // by the label of the gate
	backlog  []continuation       // in the order of seq
	events   chan func()          // reports of other goroutines
	window   *time.Timer          // ends the commit window
	windowed bool                 // the commit window is open

	status       stopReason
	cause        ending
	atOnce       bool // a second signal came: tasks get no grace
	dirty        bool // something ran, so the plan may be out of date
	inboxBad     bool // the user was told that the inbox cannot be read
	through      bool // the last phase has ended
	over         bool // the end of the run is being recorded
	unwritten    bool // a checkpoint could not be written, and onUnwritten was applied
	onUnwritten  OnCheckpointError
	captures     captures            // of the session
	uncaptured   bool                // the last capture was not made, and was not skipped either
	holding      bool                // views get commits once their checkpoint files are written
	held         []checkpoint.Commit // these commits
	toldLinks    map[string]bool     // links out of the workspace that the user was told of
	toldLeftOut  bool                // the user was told what captures leave out
	toldUnstable []string            // files that kept changing, of which the user was told
	fatal        error               // why the journal cannot be written any more
}

// continuation is a function that waits until a commit is durable.
type continuation struct {
	seq uint64
	run func()
}

// stopReason is why nothing new is started.
type stopReason int

const (
	running     stopReason = iota
	stopFailure            // a step failed; running tasks may finish
	stopPause              // the user wants to decide; running tasks may finish
	stopTimeout            // the session's time is up; running tasks are cancelled
	stopSignal             // a signal came; running tasks are cancelled
	stopBroken             // nothing can be recorded any more; running tasks are cancelled
)

// cut reports whether running tasks are cancelled, so that their results do not count.
func (l *loop) cut() bool { return l.status >= stopTimeout }

// cycle runs until finished reports true, or nothing goes on by itself.
func (l *loop) cycle(finished func() bool) {
	inbox := time.NewTicker(inboxInterval)
	defer inbox.Stop()
	for l.advance(finished) && (!l.derive() || l.advance(finished)) {
		l.await(inbox.C)
	}
}

// advance starts and records what can be. It reports false when the cycle is over.
func (l *loop) advance(finished func() bool) bool {
	l.schedule()
	if len(l.backlog) == 0 && (finished() || l.idle()) || l.fatal != nil && !l.slots.Busy() {
		return false
	}
	l.commit()
	return true
}

// await blocks until something happens, and handles it.
func (l *loop) await(inbox <-chan time.Time) {
	select {
	case report := <-l.events:
		report()
	case ack := <-l.x.Acks():
		l.acknowledge(ack)
	case <-l.window.C:
		l.flush()
	case signal := <-l.o.Interrupts:
		l.interrupt(signal)
	case <-inbox:
		l.requests()
	case <-l.stop:
		l.stopped()
	}
}

// idle reports whether nothing will happen by itself any more.
func (l *loop) idle() bool { return l.slots.Idle() && !l.prompting() }

// schedule starts what waits for a slot, until something has stopped the run, which
// starting may do. Then urgent functions end what they belong to, and jobs are dropped.
func (l *loop) schedule() {
	l.slots.StartUrgent(l.cut)
	l.slots.Start(func() bool { return l.status == running && l.phase.free() && len(l.backlog) < maxUnacknowledged })
	if l.status != running {
		l.slots.Drop()
	}
}

// commit hands events to the journal: at once if something waits for them or no other
// commit came shortly before, else within the commit window. So the start of work that
// is soon over shares a line of the journal with its end.
func (l *loop) commit() {
	if l.fatal != nil || !l.x.Pending() {
		return
	}
	starved := !l.slots.Queued() || !l.slots.Busy()
	if starved && (len(l.backlog) > 0 || !l.windowed) || len(l.backlog) >= maxUnacknowledged {
		l.flush()
		return
	}
	l.openWindow()
}

// openWindow starts the commit window, in which events wait for others.
func (l *loop) openWindow() {
	if !l.windowed {
		l.windowed = true
		l.window.Reset(commitWindow)
	}
}

// flush hands all events to the journal and closes the window.
func (l *loop) flush() {
	l.windowed = false
	l.window.Stop()
	l.x.Flush()
}

// acknowledge shows a commit that is durable now, and goes on with what
// waited for it.
func (l *loop) acknowledge(a checkpoint.Ack) {
	c, err := l.x.Acknowledge(a)
	if err != nil {
		l.broken(err)
		return
	}
	if !l.slots.Queued() { // what this lets begin may be over soon
		l.openWindow()
	}
	l.durable(c)
}

func (l *loop) durable(c checkpoint.Commit) {
	l.show(c)
	for len(l.backlog) > 0 && l.backlog[0].seq <= c.Seq {
		next := l.backlog[0]
		l.backlog = l.backlog[1:]
		next.run()
	}
}

// add records events, and runs then once they, and all that was recorded
// before, are durable.
func (l *loop) add(then func(), events ...checkpoint.Event) {
	seq := l.x.Add(events...)
	switch {
	case then == nil || l.fatal != nil:
	case seq <= l.x.Durable():
		then()
	default:
		l.backlog = append(l.backlog, continuation{seq: seq, run: then})
	}
}

// drain makes all events durable, and those that are added meanwhile. It handles each
// commit before it takes in the next, so that views get them in order although what
// waited for a commit may call drain, too.
func (l *loop) drain() {
	for l.fatal == nil && l.x.Unacknowledged() {
		l.x.Flush()
		l.acknowledge(<-l.x.Acks())
	}
	if l.fatal != nil {
		return
	}
	if _, err := l.x.Drain(l.ctx); err != nil { // nothing is pending, but the session may be poisoned
		l.broken(err)
	}
}

// broken stops everything, since nothing can be recorded any more.
func (l *loop) broken(err error) {
	if l.fatal == nil {
		l.fatal = err
	}
	l.backlog = nil
	l.halt(stopBroken)
}

// halt starts nothing new. The stronger reason stays.
func (l *loop) halt(reason stopReason) {
	if reason <= l.status {
		return
	}
	l.status = reason
	for _, q := range l.asked {
		q.endPrompt() // it stays open
	}
	if l.cut() {
		l.slots.Cancel()
	}
	l.slots.CallOff()
}

// slot is what something holds while it runs: one of all, and, if it belongs
// to a workstream's own work, one of its phase.
type slot bool

const (
	gateSlot       slot = false
	workstreamSlot slot = true
)

// spawn runs work in a goroutine while it holds a slot. The loop calls the function
// that work returns. The context of work ends with it.
func (l *loop) spawn(id string, s slot, work func(within context.Context) func()) {
	within, cancel := context.WithCancel(l.ctx)
	phase := l.phase
	if s == workstreamSlot {
		phase.busy++
	}
	l.slots.Take(id, cancel)
	if l.cut() && !l.over {
		cancel() // it came too late to be started
	}
	go func() {
		then := work(within)
		l.events <- func() {
			cancel()
			l.slots.Release(id)
			if s == workstreamSlot {
				phase.busy--
			}
			then()
			l.tellLinks()
		}
	}()
}
