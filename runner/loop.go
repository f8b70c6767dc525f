package runner

import (
	"context"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/record"
	"prdrunner/runner/recorded"
	"prdrunner/runner/schedule"
	"prdrunner/runner/secret"
	"prdrunner/runner/survey"
)

// inboxInterval is how often the loop reads requests of other commands.
const inboxInterval = 100 * time.Millisecond

// loop runs a session.
//
// The goroutine that called Build owns the loop and everything that the loop points to.
// Other goroutines run tasks, read files or ask the user. They read only fields that do
// not change. To report a result, they send a function to events, and the owner calls it.
//
// Unfinished work is in exactly one of these places: slots holds work that waits for a
// slot, has a slot or waits for a retry; openQuestions holds questions that wait for the
// user; recorder holds functions that wait for the journal. The method runUntil returns
// when its goal is reached, or when slots are empty, no function waits and no prompt is
// open. Code that removes an entry must therefore end the workstream or gate that the
// entry belongs to.
//
// The parts of a run have types of their own: opening starts or resumes the session,
// phaseRun runs a phase, node runs a workstream, gateRun judges a gate, question asks the
// user, and endReasons says why the run ends. Each has a field loop that points back to
// the loop.
type loop struct {
	opts     Options
	pipeline *pipeline.Pipeline
	known    atomic.Pointer[pipeline.Pipeline] // the same, for other goroutines
	session  *checkpoint.Session
	files    *workspace.Workspace

	facts    *plan.Facts
	planner  *plan.Planner
	surveyor *survey.Surveyor
	git      *state.Git // the branch and commit for the next checkpoints

	slots         *schedule.Scheduler  // starts work
	openQuestions map[string]*question // by the label of the gate
	questions     int                  // how many were opened
	prompted      *question            // the one that the user is being asked at the terminal; nil: none is
	recorder      *record.Recorder     // makes events durable
	events        chan func()          // reports of other goroutines

	phase         *phaseRun
	recordedFiles *recorded.Files
	returned      map[string]bool // workstreams whose records have come back in this run, with their elements
	captures      captures
	overwriting   overwriting
	protections   protections
	isolation     isolation
	services      services
	secrets       *secret.Resolver
	calling       map[*node]bool               // the workstreams whose called pipelines run
	heldOutputs   map[string]map[string]string // the values of sensitive outputs, by workstream and name
	failures      failures
	reports       *reports
	cause         endReasons

	ctx         context.Context    // parent of the tasks' contexts; tasks are cancelled through slots, never through ctx
	grace       context.Context    // for recording tasks that have ended; cancelled when the run must end at once
	cancelGrace context.CancelFunc // cancels grace
	cancelled   <-chan struct{}    // closed when the caller cancels the run

	beganAt      time.Time
	activeSince  time.Time // when the session was started or resumed
	status       stopReason
	atOnce       bool            // the run must end at once, after a second signal: tasks get no grace
	planOutdated bool            // something ran, so the plan may no longer hold
	allPhasesRan bool            // the last phase has ended
	concluding   bool            // the end of the run is being recorded
	warnedInbox  bool            // the user was told that the inbox cannot be read
	warnedLinks  map[string]bool // links out of the workspace that the user was warned about
}

// stopReason is the reason for which the loop starts nothing new. A greater value is a
// stronger reason.
type stopReason int

const (
	running     stopReason = iota
	stopFailure            // a step failed; running tasks may finish
	stopPause              // the user wants or has to decide; running tasks may finish
	stopTimeout            // the session's time is up; running tasks are cancelled
	stopSignal             // a signal came; running tasks are cancelled
	stopBroken             // the journal can no longer be written; running tasks are cancelled
)

// tasksCancelled reports whether running tasks are being cancelled, so that their results
// do not count.
func (l *loop) tasksCancelled() bool { return l.status >= stopTimeout }

// runUntil handles events until finished returns true, or until only questions without a
// prompt are open.
func (l *loop) runUntil(finished func() bool) {
	inbox := time.NewTicker(inboxInterval)
	defer inbox.Stop()
	for l.advance(finished) && (!l.recorder.WriteDocument() || l.advance(finished)) {
		l.handleNextEvent(inbox.C)
	}
}

// advance starts the work that may start and commits the recorded events. It returns
// false when runUntil must return.
func (l *loop) advance(finished func() bool) bool {
	l.schedule()
	if !l.recorder.Waiting() && (finished() || l.isIdle()) || l.recorder.Err() != nil && !l.slots.Busy() {
		return false
	}
	l.recorder.Commit()
	return true
}

// handleNextEvent blocks until the next event, and handles it.
func (l *loop) handleNextEvent(inbox <-chan time.Time) {
	select {
	case report := <-l.events:
		report()
	case ack := <-l.recorder.Acks():
		l.recorder.Acknowledge(ack)
	case <-l.recorder.Window():
		l.recorder.Flush()
	case signal := <-l.opts.Interrupts:
		l.interrupt(signal)
	case request := <-l.opts.Requests:
		l.handleRequest(request.Request, func(refusal error) {
			request.Reply(refusal)
			if refusal != nil {
				l.warnUser(refusal.Error())
			}
		})
	case <-inbox:
		l.handleRequests()
	case <-l.cancelled:
		l.handleCancel()
	}
}

// isIdle reports whether no work runs or waits for a slot, and no prompt is open.
func (l *loop) isIdle() bool { return l.slots.Idle() && !l.prompting() && !l.services.waitedFor() }

// schedule starts queued work while there are slots and the run is not stopped. Starting
// work may stop the run: then schedule drops the queued jobs. When running tasks are
// cancelled, it calls all urgent functions, so that they end their workstream or gate.
func (l *loop) schedule() {
	l.slots.StartUrgent(l.tasksCancelled)
	for before := running - 1; before != l.status; {
		if before = l.status; l.status != running {
			l.slots.Drop(l.mayStart)
		}
		l.slots.Start(func(j schedule.Job) bool { return l.mayStart(j) && l.phase.hasFreeSlot() && !l.recorder.Full() })
	}
}

// stopNewWork makes the loop start nothing new. A weaker reason does not replace a
// stronger one.
func (l *loop) stopNewWork(reason stopReason) {
	if reason <= l.status {
		return
	}
	l.status = reason
	for _, q := range l.openQuestions {
		q.endPrompt() // the question stays open
	}
	if l.tasksCancelled() {
		l.slots.Cancel()
		l.services.releaseAll()
	}
	l.slots.CallOff(l.mayStart)
}

// slot is the kind of slot that work holds while it runs. A gateSlot counts only against
// the limit of the run, a workstreamSlot also against the limit of its phase.
type slot bool

const (
	gateSlot       slot = false
	workstreamSlot slot = true
)

// spawnWork runs work in a goroutine that holds a slot. The goroutine that owns the loop
// then frees the slot and calls the function that work returned. The context of work is
// cancelled when work has ended.
func (l *loop) spawnWork(id string, s slot, work func(within context.Context) func()) {
	within, cancel := context.WithCancel(l.ctx)
	phase := l.phase
	if s == workstreamSlot {
		phase.busySlots++
	}
	l.slots.Take(id, cancel)
	if l.tasksCancelled() && !l.concluding {
		cancel() // tasks are being cancelled
	}
	go func() {
		then := work(within)
		l.events <- func() {
			cancel()
			l.slots.Release(id)
			if s == workstreamSlot {
				phase.busySlots--
			}
			then()
			l.warnLinksOut()
		}
	}()
}

// warnLinksOut warns once of each link that leads out of the workspace.
func (l *loop) warnLinksOut() {
	if found := l.surveyor.LinksOut(l.warnedLinks); len(found) > 0 {
		l.warnUser(plan.DescribeLinksOut(found))
	}
}

func (l *loop) warnUser(message string) {
	for _, v := range l.opts.Views {
		v.Warn(l.opts.Mask(message))
	}
}

// showCommit passes a durable commit to the views.
func (l *loop) showCommit(c state.Commit) {
	for _, v := range l.opts.Views {
		v.Commit(c)
	}
}

// showAwaited tells the views of a question that no event of this run records.
func (l *loop) showAwaited(q Awaited) {
	q.Message = l.opts.Mask(q.Message)
	for _, v := range l.opts.Views {
		v.Await(q)
	}
}
