package runner

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/feedback"
	"prdrunner/runner/plan"
)

// node is a workstream of the current phase during a run. The method finish ends it,
// once: complete, skipped, failed, blocked or left for the next run.
type node struct {
	loop            *loop
	ws              *pipeline.Workstream
	pendingUpstream int     // how many upstream workstreams of the phase have not ended
	dependents      []*node // of the same phase

	readyAt time.Time  // when its last upstream workstream ended
	step    *plan.Step // the decision about it; after its end nil, except for a skipped workstream
	attempt int
	digest  state.Digest
	reports *reporting    // of its current attempt
	task    string        // the text of its task
	told    feedback.File // what its current attempt is told

	call       *Call // of its current attempt, if the workstream calls a pipeline
	callBegan  bool  // a session has begun for call, in this attempt or an earlier one
	pauseAsked bool  // the called pipeline was asked to pause

	awaited          bool             // its services were started for its next attempt
	attemptsEnded    int              // attempts in this run that have ended
	pauses           backoff.BackOff  // yields the pauses between its attempts
	leftFiles        []state.Artifact // artifacts of other workstreams that the last attempt changed, until they are on record
	guard            *guard           // of its current attempt, if the workstream is protected
	partialTakenBack bool             // partial work of an earlier run was undone, which only the first attempt in a run does

	ended bool
	done  bool // completed, skipped, or failed and allowed to fail
}

// enqueue queues a workstream whose upstream is complete or skipped. A workstream that the
// plan reuses ends at once while nothing has run; any other takes a slot, since its files
// must be read again.
func (n *node) enqueue() {
	l := n.loop
	if step, ok := l.planner.Step(n.ws.Name); ok && !l.planOutdated && step.Decision == plan.Reuse && len(step.Restores) == 0 {
		n.finishUnchanged()
		return
	}
	n.readyAt = l.opts.Now()
	l.slots.Add(n.newJob(n.surveyAndDecide))
}

// freeMemory frees memory that an ended workstream no longer needs, since a run may have
// very many workstreams.
func (n *node) freeMemory() {
	if !n.skipped() {
		n.step = nil
	}
	n.digest, n.pauses, n.guard, n.call = state.Digest{}, nil, nil, nil
}

func (n *node) skipped() bool { return n.step != nil && n.step.Decision == plan.Skipped }

// surveyAndDecide reads the inputs and artifacts of a workstream, if it has any, and then
// decides about it.
func (n *node) surveyAndDecide() {
	l := n.loop
	rec := l.session.State().Workstream(n.ws.Name)
	overwrites := l.recordedFiles.AnyMatch(l.surveyor.Extend(n.ws.ArtifactPatterns))
	if len(n.ws.Inputs) == 0 && (len(rec.Artifacts) == 0 || rec.Status == state.Pending) && !overwrites {
		n.decide()
		return
	}
	snapshot := *rec
	found := plan.NewFacts(l.session.State())
	l.spawnWork("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := l.surveyor.Workstream(within, found, n.ws, &snapshot)
		if err == nil && overwrites {
			err = l.surveyor.GatherUnder(within, found, n.ws)
		}
		return func() {
			switch {
			case !n.mayStart(): // only its files were read, so there is nothing to record
				n.drop()
			case err != nil:
				n.recordFailure(state.Failure{Workstream: n.ws.Name, Outcome: "error", Message: state.Text(err.Error())})
			default:
				l.facts.Merge(found)
				n.decide()
			}
		}
	})
}

// decide asks the planner for a decision about a workstream, and executes it.
func (n *node) decide() {
	l := n.loop
	e := l.planner.WhenEnabled(n.ws)
	if on := e.Blocked(); len(on) > 0 { // even if the step is uncertain
		n.finishWaiting(plan.Step{Kind: plan.WorkstreamStep, Name: n.ws.Name, Decision: plan.Blocked, On: on})
		return
	}
	step, diags := l.planner.Workstream(n.ws, e)
	n.step = &step
	if diags = append(e.Diags, diags...); diags.HasErrors() {
		n.finishUnevaluated(diags)
		return
	}
	if n.stopForUndecided() {
		return
	}
	switch n.step.Decision {
	case plan.Skipped:
		n.recordSkip()
	case plan.Reuse, plan.Judge:
		if l.session.State().Workstream(n.ws.Name).FailureAllowed() {
			n.finishUnchanged()
		} else {
			n.continueDone()
		}
	case plan.Run, plan.Rerun, plan.Cached:
		if lost := slices.Concat(l.overwriting.unkeptConflicts(plan.EditedArtifacts(l.facts.Conflicts[n.ws.Name])), l.overwriting.unkeptPartial(n.ws.Name)); len(lost) > 0 {
			err := &ConflictError{Conflicts: lost, Rerun: true}
			n.recordFailure(state.Failure{Workstream: n.ws.Name, Outcome: "conflict", Message: state.Text(err.Error())})
			return
		}
		if l.stopForEdits(n.editsBefore()) {
			n.finish(left)
			return
		}
		n.startAttempt()
	case plan.Uncertain:
		l.phase.recordStarted()
		if rec := l.session.State().Workstream(n.ws.Name); rec.Status != state.Uncertain {
			e := state.WorkstreamUncertain{Workstream: n.ws.Name, Error: state.Failure{
				Workstream: n.ws.Name, Outcome: "unknown", Message: n.step.Reason,
			}}
			if n.step.Happened != nil || rec.Done() {
				e.Error.Outcome = state.OutcomeHappened
			}
			if of := l.planner.FormerRecord(n.ws, rec); of != nil {
				e.SameAs = of.Name
			}
			l.recorder.Add(nil, e)
		}
		n.resolveUncertain()
	case plan.Blocked, plan.Depends:
		n.finishWaiting(step)
	}
}

// finishUnevaluated ends a workstream with an expression that can't be evaluated. A
// completed workstream stays complete if the expression only says whether it is enabled,
// and an uncertain one stays uncertain.
func (n *node) finishUnevaluated(diags hcl.Diagnostics) {
	l := n.loop
	f := l.failures.expressionFailure(n.ws.Name, "", diags)
	rec := l.session.State().Workstream(n.ws.Name)
	switch {
	case n.step.Decision == plan.Blocked: // the selection leaves it out
		l.cause.excluded = l.cause.excluded || l.planner.ExclusionReason(n.ws) != ""
		n.finish(left)
	case rec.Status == state.Uncertain:
		l.warnUser(n.ws.Name + ": " + string(f.Message))
		n.leaveUncertain()
	case n.step.Decision == plan.Run && rec.Done():
		l.addFailure(f, n.ws.FailFast)
		n.finish(pipeline.StatusFailed)
	default:
		n.recordFailure(f)
	}
}

func (n *node) recordSkip() {
	n.rollBackThen("it is skipped", n.skip)
}

func (n *node) skip() {
	l := n.loop
	if rec := l.session.State().Workstream(n.ws.Name); !rec.AllSkipped() {
		l.phase.recordStarted()
		l.recordedFiles.ForgetArtifacts(rec)
		l.recorder.Add(nil, state.WorkstreamSkipped{Workstream: n.ws.Name, Reason: n.step.Reason})
	}
	l.phase.finishWorkstream(n.ws, false)
	l.recorder.Add(func() { n.finish(pipeline.StatusSkipped) })
}

// finishUnchanged ends a workstream that the plan reuses: one that has completed, or whose
// failure is allowed.
func (n *node) finishUnchanged() {
	n.loop.phase.finishWorkstream(n.ws, false)
	if n.loop.session.State().Workstream(n.ws.Name).FailureAllowed() {
		n.finish(pipeline.StatusFailed)
	} else {
		n.finish(pipeline.StatusCompleted)
	}
}

// continueDone continues with a workstream whose work is done: it restores artifacts,
// records edits, and judges the gates that need a verdict.
func (n *node) continueDone() {
	l := n.loop
	rec := l.session.State().Workstream(n.ws.Name)
	switch changed := l.facts.Conflicts[n.ws.Name]; {
	case len(n.step.Restores) > 0:
		n.restoreThen(n.continueDone)
		return
	case len(l.planner.UndecidedConflicts(*n.step)) > 0: // the edit was made after the plan, so no decision about it exists
		l.stopForEdits(conflictEdits(n.ws.Name, plan.EditedArtifacts(changed)))
		n.finish(left)
		return
	case len(changed) > 0:
		n.recordEdits(changed)
		return
	case len(n.ws.Artifacts) > 0 && len(rec.Artifacts)+len(rec.Edited) == 0 && !rec.Imported:
		n.adoptArtifacts() // the user or the verify command said that it happened, so its artifacts are not on record
		return
	}
	n.judgeGates()
}

// recordEdits keeps the bytes of edited artifacts and records them as the workstream's
// artifacts.
func (n *node) recordEdits(changed []plan.Conflict) {
	l := n.loop
	current, partial := l.facts.Current[n.ws.Name], recordedArtifacts(l.facts.Partial[n.ws.Name])
	l.spawnWork("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := keepBytes(within, l.files, current)
		return func() {
			switch {
			case l.tasksCancelled():
				n.finish(left)
				return
			case err != nil:
				n.recordFailure(state.Failure{Workstream: n.ws.Name, Outcome: state.OutcomeResult, Message: state.Text(err.Error())})
				return
			}
			paths := make([]state.Text, len(changed))
			for i, c := range changed {
				paths[i] = state.Text(c.Path)
			}
			l.phase.recordStarted()
			l.recordArtifacts(n.ws, state.SortByPath(slices.Concat(current, partial)), paths)
			n.judgeGates()
		}
	})
}

// recordArtifacts records the present artifacts of a workstream.
func (l *loop) recordArtifacts(ws *pipeline.Workstream, artifacts []state.Artifact, edited []state.Text) {
	l.recordedFiles.SetArtifacts(ws.Name, l.surveyor.Extend(ws.ArtifactPatterns), artifacts)
	l.recorder.Add(nil, state.WorkstreamEdited{Workstream: ws.Name, Artifacts: artifacts, Edited: edited})
	delete(l.facts.Conflicts, ws.Name)
}

// adoptArtifacts records the artifacts of a workstream whose work is done and whose
// artifacts are not on record.
func (n *node) adoptArtifacts() {
	l := n.loop
	l.spawnWork("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		artifacts, _, err := l.surveyor.KeepArtifacts(within, n.ws)
		return func() {
			switch {
			case l.tasksCancelled():
				n.finish(left)
			case err != nil:
				n.recordFailure(state.Failure{Workstream: n.ws.Name, Outcome: state.OutcomeResult, Message: state.Text(l.opts.Mask(err.Error()))})
			default:
				l.phase.recordStarted()
				l.recordArtifacts(n.ws, artifacts, nil)
				n.judgeGates()
			}
		}
	})
}

// judgeGates judges the gates of a workstream whose work is done, and completes it.
func (n *node) judgeGates() {
	l := n.loop
	l.planner.SetDecision(n.ws.Name, plan.Judge)
	l.judgeAll(n.ws.Gates, func(passed bool) {
		if !passed {
			n.gatesFailed()
			return
		}
		if rec := l.session.State().Workstream(n.ws.Name); rec.Status == state.Completed {
			l.planner.SetDecision(n.ws.Name, plan.Reuse)
			l.phase.finishWorkstream(n.ws, false)
			l.recorder.Add(func() { n.finish(pipeline.StatusCompleted) }) // once the verdicts are durable
			return
		}
		l.phase.recordStarted()
		if l.isolation.holds(n.ws) {
			n.bringBack()
			return
		}
		n.complete(state.WorkstreamCompleted{Workstream: n.ws.Name})
	})
}

// complete records that a workstream is complete, and makes the checkpoints that are due
// then.
func (n *node) complete(e state.WorkstreamCompleted) {
	l := n.loop
	l.planner.SetDecision(n.ws.Name, plan.Reuse)
	l.recorder.Add(nil, append([]state.Event{e}, n.commitChanges()...)...)
	l.captures.captureAtBoundary(func() {
		l.addCheckpoint(state.TriggerWorkstreamComplete, "")
		l.phase.finishWorkstream(n.ws, true)
	})
	l.recorder.Add(func() { n.finish(pipeline.StatusCompleted) })
}

// interrupt records that a workstream was interrupted, and leaves it for the next run.
func (n *node) interrupt() {
	n.loop.recorder.Add(func() { n.finish(left) }, state.WorkstreamInterrupted{Workstream: n.ws.Name, Attempt: n.attempt, NotBegun: n.callNotBegun()})
}

// callNotBegun reports whether the workstream calls a pipeline that has no session yet.
func (n *node) callNotBegun() bool { return n.call != nil && !n.callBegan }

// recordedArtifacts returns the records of partially overwritten artifacts.
func recordedArtifacts(partial []plan.PartialArtifact) []state.Artifact {
	all := make([]state.Artifact, len(partial))
	for i, a := range partial {
		all[i] = a.Artifact
	}
	return all
}
