package runner

import (
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/schedule"
)

// A workstream ends in a run in one of five ways: completed, skipped, failed, blocked by a
// failure, or left for the next run. What depends on it starts, ends as well, or waits for
// more, as its run_on says.

// left is how a workstream ends that this run does not decide about: it was interrupted, waits
// for the user, or was not chosen. What depends on it is left, too.
const left pipeline.Status = ""

// finish ends a workstream for this run, and tells those that depend on it.
func (n *node) finish(as pipeline.Status) {
	if n.ended {
		return
	}
	l := n.loop
	n.ended = true
	switch as {
	case pipeline.StatusCompleted, pipeline.StatusSkipped:
		n.done = true
	case pipeline.StatusFailed, pipeline.StatusBlocked:
		n.done = l.session.State().Workstream(n.ws.Name).FailureAllowed()
		l.planner.SetEnded(n.ws.Name, as)
	case left:
	}
	n.freeMemory()
	l.phase.unfinishedNodes--
	for _, d := range n.dependents {
		d.upstreamEnded(n, as)
	}
}

// upstreamEnded takes into account that a workstream which n depends on has ended. After the
// last one n may run.
func (n *node) upstreamEnded(up *node, as pipeline.Status) {
	if n.ended { // another one has blocked it
		return
	}
	if !up.done && (as == left || n.ws.RunOn == pipeline.RunOnSucceeded) {
		n.finishBlocked(up.ws.Name, as)
		return
	}
	if n.pendingUpstream--; n.pendingUpstream == 0 {
		n.enqueue()
	}
}

// finishBlocked ends a workstream that can't run because of how an upstream workstream ended.
func (n *node) finishBlocked(on string, as pipeline.Status) {
	n.loop.planner.SetStep(plan.Step{Kind: plan.WorkstreamStep, Name: n.ws.Name, Decision: plan.Blocked, On: []string{on}})
	if as == left {
		n.finish(left)
	} else {
		n.finish(pipeline.StatusBlocked)
	}
}

// finishWaiting ends a workstream that can't run, according to the step that says what it needs.
func (n *node) finishWaiting(step plan.Step) {
	l := n.loop
	l.planner.SetStep(step)
	l.cause.excluded = l.cause.excluded || l.planner.ExclusionReason(n.ws) != ""
	if l.planner.BlockedByFailure(step) {
		n.finish(pipeline.StatusBlocked)
	} else {
		n.finish(left)
	}
}

// newJob returns a job that calls start. If the job is dropped, the workstream does not run.
func (n *node) newJob(start func()) schedule.Job {
	return schedule.Job{Start: start, Late: n.late(), Drop: n.drop}
}

// drop ends a workstream that the run does not start any more.
func (n *node) drop() {
	if n.loop.status == stopFailure {
		n.finish(pipeline.StatusBlocked)
	} else {
		n.finish(left)
	}
}

// late reports whether the workstream may start after a failure.
func (n *node) late() bool { return n.ws.RunOn != pipeline.RunOnSucceeded }

// mayStart reports whether the run still starts the workstream.
func (n *node) mayStart() bool { return n.loop.starts(n.late()) }

// starts reports whether the run still starts work: after a failure, only late work.
func (l *loop) starts(late bool) bool {
	return l.status == running || l.status == stopFailure && late
}

func (l *loop) mayStart(j schedule.Job) bool { return l.starts(j.Late) }

// recordFailure ends a workstream with a failure, which the pipeline may allow.
func (n *node) recordFailure(f state.Failure) { n.fail(f, n.ws.AllowFailure && isAllowed(f)) }

// fail ends a workstream with a failure. A once step whose work is done becomes uncertain
// instead: a failed workstream would run again, and only the user may decide that for a once
// step.
func (n *node) fail(f state.Failure, allowed bool) {
	l := n.loop
	l.phase.recordStarted()
	if n.ws.Effect == pipeline.Once && l.session.State().Workstream(n.ws.Name).Done() {
		l.recorder.Add(nil, state.WorkstreamUncertain{Workstream: n.ws.Name, Error: f})
		n.leaveUncertain()
		return
	}
	failed := state.WorkstreamFailed{Workstream: n.ws.Name, Error: f, Left: n.leftFiles, Allowed: allowed, NotBegun: n.callNotBegun()}
	l.recorder.Add(func() { n.finish(pipeline.StatusFailed) }, append([]state.Event{failed}, n.kept()...)...)
	if allowed {
		l.phase.finishWorkstream(n.ws, true)
	} else {
		l.addFailure(f, n.ws.FailFast)
	}
}

// isAllowed reports whether allow_failure covers a failure: those of the processes and gates of
// the workstream, and not those of Runner or of the pipeline's file. That a called pipeline did not
// run is none of its work either.
func isAllowed(f state.Failure) bool {
	switch f.Outcome {
	case "error", "conflict", "rollback", "rejected", state.OutcomeService, state.OutcomeRefused, state.OutcomeNoSession:
		return false
	}
	return true
}

// addFailure notes a failure for the end of the run. With failFast, nothing new starts then but
// what runs after failures, unless the user wants the run to keep going.
func (l *loop) addFailure(f state.Failure, failFast bool) {
	l.cause.failures = append(l.cause.failures, f)
	if failFast && !l.opts.KeepGoing {
		l.stopNewWork(stopFailure)
	}
}

// runPhases runs the phases in their order. After a failure, it runs only those that say so
// with run_on.
func (l *loop) runPhases() {
	for i := range l.pipeline.Phases {
		phase := l.pipeline.Phases[i] // a phase may give later ones other instances
		if len(l.cause.failures) > 0 && phase.RunOn == pipeline.RunOnSucceeded {
			l.passOver(phase)
			continue
		}
		l.continueAfterFailures()
		passed := l.runPhase(phase)
		if !passed && !l.onlyFailed() {
			return
		}
		l.allPhasesRan = phase.Number == len(l.pipeline.Phases)
		if !l.betweenPhases(phase) {
			return
		}
	}
}

// passOver leaves a phase for the next run, because something failed before it.
func (l *loop) passOver(phase *pipeline.Phase) {
	for _, ws := range phase.Workstreams {
		l.planner.SetEnded(ws.Name, pipeline.StatusBlocked)
	}
}

// onlyFailed reports whether failures are the only reason for which the run stops.
func (l *loop) onlyFailed() bool {
	return len(l.cause.failures) > 0 && l.status <= stopFailure && l.recorder.Err() == nil
}

// continueAfterFailures lets a phase that runs after failures start all its work. Questions of
// the phase that has failed are asked again by the next run.
func (l *loop) continueAfterFailures() {
	if len(l.cause.failures) == 0 {
		return
	}
	l.planner.SetFailed()
	for _, q := range l.openQuestions {
		q.close()
	}
	if l.status == stopFailure {
		l.status = running
	}
}

// runsAfterFailures reports whether something has failed and a phase behind a phase runs all
// the same.
func (l *loop) runsAfterFailures(phase *pipeline.Phase) bool {
	late := func(p *pipeline.Phase) bool { return p.RunOn != pipeline.RunOnSucceeded }
	return len(l.cause.failures) > 0 && slices.ContainsFunc(l.pipeline.Phases[phase.Number:], late)
}
