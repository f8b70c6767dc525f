package runner

import (
	"context"
	"fmt"
	"io"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

const (
	// maxUnacknowledged is how many boundaries may have happened that are not
	// yet durable. A worker's slot is free when its process ends; the commit
	// follows within this bound.
	maxUnacknowledged = 64
	// commitWindow is how long a boundary that nothing waits for may wait for
	// company, so that several share one flush.
	commitWindow = 5 * time.Millisecond
	// inboxInterval is how often requests from beside are looked for.
	inboxInterval = 100 * time.Millisecond
)

// loop runs a session. One goroutine owns it and everything it points to;
// others only send to its channels.
type loop struct {
	o     Options
	p     *pipeline.Pipeline
	x     *checkpoint.Session
	sv    *surveyor
	facts *Facts
	pl    *planner
	began time.Time

	queue    []func()       // what waits for a slot, in order
	urgent   []func()       // likewise, but first: gates of work that is done
	busy     int            // slots in use
	inPhase  int            // likewise, by workstreams of the current phase
	limit    int            // of the current phase, 0: none
	backlog  []continuation // what waits for something to be durable, in order of seq
	window   *time.Timer    // open while a commit waits for company
	windowed bool
	timers   int // pending retries

	events   chan func()          // what goroutines report; run by the owner
	tasks    map[string]func()    // cancels each running task, by its ID
	asked    map[string]*open     // approvals that wait for an answer, by label
	retrying map[*node]func(bool) // what waits for its next attempt
	status   stopReason
	cause    ending
	atOnce   bool  // a second signal came: nothing gets a grace any more
	entered  bool  // the current phase was entered in this run
	passed   bool  // the current phase was completed in this run
	dirty    bool  // something has run, so that the plan no longer tells
	fatal    error // the journal can't be written any more
	git      *checkpoint.Git
	left     map[int]int // of the current phase: workstreams not yet complete, by batch
}

// continuation is what happens once a commit is durable.
type continuation struct {
	seq uint64
	run func()
}

// stopReason is why nothing new is started.
type stopReason int

const (
	running     stopReason = iota
	stopFailure            // something failed; what runs may finish
	stopPause              // somebody wants to look; what runs may finish
	stopTimeout            // the session's time is up; what runs is ended
	stopSignal             // likewise, by a signal
	stopBroken             // likewise, because nothing can be recorded any more
)

// ending collects why the run ends.
type ending struct {
	failures  []checkpoint.Failure
	reviews   []string // gates that passed and wait for review
	uncertain []string // workstreams
	requested bool
	excluded  bool // by --only
	signal    string
	derived   error // a checkpoint can't be written
}

// cycle runs until finished reports true, or nothing can go on by itself.
func (l *loop) cycle(ctx context.Context, finished func() bool) {
	inbox := time.NewTicker(inboxInterval)
	defer inbox.Stop()
	for {
		l.schedule()
		if l.fatal != nil && l.busy == 0 {
			return
		}
		settled := len(l.backlog) == 0
		if settled && (finished() || l.idle()) {
			return
		}
		l.commit()
		select {
		case f := <-l.events:
			f()
		case a := <-l.x.Acks():
			l.acknowledge(a)
		case <-l.window.C:
			l.windowed = false
			l.x.Flush()
		case name := <-l.o.Interrupts:
			l.interrupt(name)
		case <-inbox.C:
			l.requests()
		case <-ctx.Done():
			l.interrupt("SIGTERM")
			l.interrupt("SIGTERM")
			ctx = context.WithoutCancel(ctx)
		}
		l.derive(ctx)
	}
}

// idle reports whether nothing will happen by itself any more.
func (l *loop) idle() bool {
	return l.busy == 0 && len(l.queue) == 0 && len(l.urgent) == 0 && l.timers == 0 && !l.prompting()
}

// schedule starts what waits for a slot while there are slots.
func (l *loop) schedule() {
	if l.status >= stopTimeout {
		l.queue, l.urgent = nil, nil
		return
	}
	for l.busy < l.o.Parallel {
		var next func()
		switch {
		case len(l.urgent) > 0:
			next, l.urgent = l.urgent[0], l.urgent[1:]
		case l.status != running:
			l.queue = nil
			return
		case len(l.queue) > 0 && (l.limit == 0 || l.inPhase < l.limit) && len(l.backlog) < maxUnacknowledged:
			next = l.queue[0]
			l.queue[0] = nil
			l.queue = l.queue[1:]
		default:
			return
		}
		next() // which may well add something urgent
	}
}

// commit hands what happened to the journal: at once if something waits for
// it, else within the commit window.
func (l *loop) commit() {
	if !l.x.Pending() {
		return
	}
	starved := len(l.queue) == 0 || l.busy == 0
	if starved || len(l.backlog) >= maxUnacknowledged {
		l.x.Flush()
		return
	}
	if !l.windowed {
		l.windowed = true
		l.window.Reset(commitWindow)
	}
}

// acknowledge shows a commit that is durable now, and goes on with what
// waited for it.
func (l *loop) acknowledge(a checkpoint.Ack) {
	c, err := l.x.Acknowledge(a)
	if err != nil {
		l.broken(err)
		return
	}
	l.durable(c)
}

func (l *loop) durable(c checkpoint.Commit) {
	for _, v := range l.o.Views {
		v.Commit(c)
	}
	for len(l.backlog) > 0 && l.backlog[0].seq <= c.Seq {
		next := l.backlog[0]
		l.backlog = l.backlog[1:]
		next.run()
	}
}

// add records events, and runs then once they are durable.
func (l *loop) add(then func(), events ...checkpoint.Event) {
	seq := l.x.Add(events...)
	if then != nil {
		l.backlog = append(l.backlog, continuation{seq: seq, run: then})
	}
}

// drain makes everything durable that was added.
func (l *loop) drain(ctx context.Context) {
	commits, err := l.x.Drain(ctx)
	for _, c := range commits {
		l.durable(c)
	}
	if err != nil {
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
	for _, a := range l.asked {
		if a.cancel != nil {
			a.cancel() // the question stays open
		}
	}
	l.cancelRetries()
	if reason >= stopTimeout {
		for _, cancel := range l.tasks {
			cancel()
		}
	}
}

// interrupt stops gracefully the first time, and at once the second.
func (l *loop) interrupt(name string) {
	if l.cause.signal == "" {
		l.cause.signal = name
		l.halt(stopSignal)
		return
	}
	l.atOnce = true
	if c, ok := l.o.Executor.(io.Closer); ok {
		if err := c.Close(); err != nil {
			l.warn(fmt.Sprintf("what runs could not be ended: %v", err))
		}
	}
}

// spawn runs work beside the loop while it holds a slot. The work returns
// what the loop does with it, and its own context ends with it.
func (l *loop) spawn(ctx context.Context, id string, work func(within context.Context) func()) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.busy++
	l.tasks[id] = cancel
	go func() {
		then := work(within)
		l.events <- func() {
			cancel()
			delete(l.tasks, id)
			l.busy--
			then()
		}
	}()
}
