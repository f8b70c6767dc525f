package runner

import (
	"context"
	"sync"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
	"prdrunner/runner/schedule"
)

// Build runs a pipeline, from the start or from the state of the session. It returns an
// error if something prevented the run or its recording. The Ending says how the run
// itself ended.
func Build(ctx context.Context, o Options) (Ending, error) {
	o = o.withDefaults()
	w, done, err := o.files()
	if err != nil {
		return Ending{}, err
	}
	defer done()
	l := newLoop(o, w)
	plan, err := l.interruptible(ctx)
	if err != nil {
		return Ending{}, err
	}
	// From here on everything is recorded: a request to stop is an event, not an
	// error.
	l.ctx, l.stop = context.WithoutCancel(ctx), ctx.Done()
	l.grace, l.hurry = context.WithCancel(l.ctx)
	defer l.hurry()
	if err := l.begin(plan); err != nil {
		return Ending{}, err
	}
	stopTimer := l.limitTime()
	for _, phase := range o.Pipeline.Phases {
		if !l.runPhase(phase) {
			break
		}
		l.through = phase.Number == len(o.Pipeline.Phases)
		if !l.betweenPhases(phase) {
			break
		}
	}
	stopTimer()
	return l.conclude()
}

func newLoop(o Options, w *workspace.Workspace) *loop {
	window := time.NewTimer(time.Hour)
	window.Stop()
	events := make(chan func(), 256)
	return &loop{
		o: o, p: o.Pipeline, x: o.Session, sv: o.surveyor(w), files: w, facts: plan.NewFacts(o.Session.State()), began: o.Now(),
		window: window, events: events, slots: schedule.New(o.Parallel, func(f func()) { events <- f }), asked: make(map[string]*question),
		finder: sync.OnceValue(findings.New), recordedFiles: newRecordedFiles(), toldLinks: make(map[string]bool),
	}
}

// betweenPhases makes the checkpoint before the next phase. It reports whether the run may
// continue.
func (l *loop) betweenPhases(phase *pipeline.Phase) bool {
	if l.status != running || l.fatal != nil {
		return false
	}
	if l.phase.passed && phase.Number < len(l.p.Phases) {
		l.capture(state.TriggerPhaseTransition)
		l.readGit() // a capture may be a commit
		l.checkpoint(state.TriggerPhaseTransition, "")
		l.writeAll()
	}
	return l.fatal == nil && l.status == running
}

// limitTime ends the run when the session's time is up. Only time in which the session was
// running counts.
func (l *loop) limitTime() (stop func()) {
	if l.p.Timeout <= 0 {
		return func() {}
	}
	left := l.p.Timeout - time.Duration(l.x.State().ActiveMS)*time.Millisecond
	timer := time.AfterFunc(max(0, left), func() {
		l.events <- func() {
			if !l.over {
				l.halt(stopTimeout)
			}
		}
	})
	return func() { timer.Stop() }
}
