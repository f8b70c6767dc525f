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
	"prdrunner/runner/protect"
	"prdrunner/runner/query"
	"prdrunner/runner/record"
	"prdrunner/runner/recorded"
	"prdrunner/runner/schedule"
	"prdrunner/runner/secret"
)

// Build runs a pipeline, from the start or from the state of the session. It returns an
// error if something prevented the run or its recording. How the run ended is in the
// Ending.
func Build(ctx context.Context, o Options) (Ending, error) {
	o = o.withDefaults()
	w, done, err := o.workspaceFiles()
	if err != nil {
		return Ending{}, err
	}
	defer done()
	l := newLoop(ctx, o, w)
	defer l.cancelGrace()
	if err := l.protections.finish(); err != nil {
		return Ending{}, err
	}
	if err := l.isolation.begin(); err != nil {
		return Ending{}, err
	}
	defer l.isolation.end()
	plan, err := l.prepareProtected(ctx)
	if err != nil {
		return Ending{}, err
	}
	if err := l.beginSession(plan); err != nil {
		return Ending{}, err
	}
	l.reports.readLeft()
	stopTimer := l.limitTime()
	if l.passReview() {
		l.runPhases()
	}
	l.services.stopAll()
	stopTimer()
	ending, err := l.conclude()
	l.protections.deleteCommitted()
	return ending, err
}

// newLoop returns a loop for a run. The caller must call cancelGrace when the run has
// ended. The end of ctx does not cancel the run directly: the loop sees it as the channel
// cancelled, so that it can record the end.
func newLoop(ctx context.Context, o Options, w *workspace.Workspace) *loop {
	events := make(chan func(), 256)
	l := &loop{
		opts: o, pipeline: o.Pipeline, session: o.Session, surveyor: o.surveyor(w), files: w, facts: plan.NewFacts(o.Session.State()), beganAt: o.Now(),
		ctx: context.WithoutCancel(ctx), cancelled: ctx.Done(),
		events: events, slots: schedule.New(o.Parallel, func(f func()) { events <- f }), openQuestions: make(map[string]*question), heldOutputs: make(map[string]map[string]string), calling: make(map[*node]bool),
		failures: failures{opts: o, files: w, finder: sync.OnceValue(findings.New)}, recordedFiles: recorded.New(), returned: make(map[string]bool), warnedLinks: make(map[string]bool),
	}
	l.known.Store(o.Pipeline)
	l.captures.loop, l.overwriting.loop, l.cause.loop = l, l, l
	l.protections = protections{loop: l, keeper: protect.New(o.Store.Safety(), w, o.By)}
	l.isolation = newIsolation(l)
	l.services = services{loop: l, runs: make(map[string]*serviceRun)}
	l.secrets = &secret.Resolver{
		Querier:  query.Querier{PRD: o.Pipeline.ID, Files: w, Workspace: o.Workspace, Commander: o.Commands, Hide: o.Hide},
		Pipeline: o.Pipeline, Getenv: o.Getenv, Mask: o.Mask,
	}
	l.reports = newReports(l)
	l.grace, l.cancelGrace = context.WithCancel(l.ctx)
	l.recorder = record.New(l.ctx, l.session, record.Run{
		Slots: l.slots, Show: l.showCommit, Warn: l.warnUser, Broken: func() { l.reports.stop(); l.stopNewWork(stopBroken) },
		Unwritten: func(err error) { l.cause.unwritten = err; l.stopNewWork(stopPause) },
		Decide:    l.decideUnwritten, Wait: l.waitFor,
	})
	return l
}

// betweenPhases makes the checkpoint before the next phase. It reports whether the run may
// continue.
func (l *loop) betweenPhases(phase *pipeline.Phase) bool {
	if l.status > stopFailure || l.recorder.Err() != nil {
		return false
	}
	if (l.phase.passed || l.phase.entered && l.runsAfterFailures(phase)) && phase.Number < len(l.pipeline.Phases) {
		l.captures.capture(state.TriggerPhaseTransition)
		l.readGit() // a capture may be a commit
		l.readWorkTree()
		l.addCheckpoint(state.TriggerPhaseTransition, "")
		l.recorder.WriteAll()
	}
	return l.recorder.Err() == nil && l.status <= stopFailure
}

// limitTime ends the run when the session's timeout has passed. Only time in which the
// session was running counts.
func (l *loop) limitTime() (stop func()) {
	if l.pipeline.Timeout <= 0 {
		return func() {}
	}
	left := l.pipeline.Timeout - time.Duration(l.session.State().ActiveMS)*time.Millisecond
	timer := time.AfterFunc(max(0, left), func() {
		l.events <- func() {
			if !l.concluding {
				l.stopNewWork(stopTimeout)
			}
		}
	})
	return func() { timer.Stop() }
}
