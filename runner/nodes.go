package runner

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/schedule"
)

// node is a workstream of the current phase during a run. It ends once, through loop.end:
// complete, skipped, failed, blocked or left for the next run.
type node struct {
	loop       *loop
	ws         *pipeline.Workstream
	waiting    int     // how many upstream workstreams of the phase are not ok
	dependents []*node // of the same phase

	readyAt time.Time  // when its last upstream workstream became ok
	step    *plan.Step // the decision about it; after its end nil, except for a skipped workstream
	attempt int
	digest  state.Digest

	tries  int              // attempts in this run that have ended
	pauses backoff.BackOff  // yields the pauses between its attempts
	left   []state.Artifact // artifacts of other workstreams as the last attempt left them, until they are on record
	looked bool             // partial work was checked for and taken back, which only its first attempt in a run does

	ended bool
	done  bool // complete or skipped: its dependents may start
}

// queue queues a workstream whose upstream is complete or skipped. A workstream that the
// plan reuses ends at once while nothing has run; any other takes a slot, since its files
// must be read again.
func (n *node) queue() {
	l := n.loop
	if step, ok := l.planner.Step(n.ws.Name); ok && !l.dirty && step.Decision == plan.Reuse && len(step.Restores) == 0 {
		l.phase.done(n.ws, false)
		n.end(true)
		return
	}
	n.readyAt = l.o.Now()
	l.slots.Add(n.job(n.consider))
}

// job returns a job that starts a workstream, or leaves it for the next run if it is
// dropped.
func (n *node) job(start func()) schedule.Job {
	return schedule.Job{Start: start, Drop: func() { n.end(false) }}
}

// end ends a workstream for this run. If it is ok, dependents that wait for no other
// workstream become ready; otherwise all its dependents are blocked.
func (n *node) end(ok bool) {
	if n.ended {
		return
	}
	n.ended, n.done = true, ok
	n.forget()
	n.loop.phase.openNodes--
	for _, d := range n.dependents {
		if !ok {
			d.block(n.ws.Name)
			continue
		}
		if d.waiting--; d.waiting == 0 && !d.ended {
			d.queue()
		}
	}
}

// forget frees memory that an ended workstream no longer needs, since a run may have very
// many workstreams.
func (n *node) forget() {
	if !n.skipped() {
		n.step = nil
	}
	n.digest, n.pauses = state.Digest{}, nil
}

func (n *node) skipped() bool { return n.step != nil && n.step.Decision == plan.Skipped }

// block ends a workstream that can't run because an upstream workstream is not ok, and all
// that depend on it.
func (n *node) block(on string) {
	n.loop.planner.SetStep(plan.Step{Kind: plan.WorkstreamStep, Name: n.ws.Name, Decision: plan.Blocked, On: []string{on}})
	n.end(false)
}

// consider reads the files that concern a workstream, if there are any, and then decides
// about it.
func (n *node) consider() {
	l := n.loop
	rec := l.session.State().Workstream(n.ws.Name)
	overwrites := l.recordedFiles.under(l.surveyor.Extend(n.ws.ArtifactPatterns))
	if len(n.ws.Inputs) == 0 && (len(rec.Artifacts) == 0 || rec.Status == state.Pending) && !overwrites {
		n.decided()
		return
	}
	snapshot := *rec
	found := plan.NewFacts(l.session.State())
	l.spawn("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := l.surveyor.Workstream(within, found, n.ws, &snapshot)
		if err == nil && overwrites {
			err = l.surveyor.GatherUnder(within, found, n.ws)
		}
		return func() {
			switch {
			case l.status != running: // only its files were read, so there is nothing to record
				n.end(false)
			case err != nil:
				n.fail(state.Failure{Workstream: n.ws.Name, Outcome: "error", Message: state.Text(err.Error())})
			default:
				l.facts.Merge(found)
				n.decided()
			}
		}
	})
}

// decided asks the planner for a decision about a workstream, and carries it out.
func (n *node) decided() {
	l := n.loop
	enabled, diags := n.ws.Enabled(l.planner.Results(n.ws.NeedsResults(), 0))
	var e plan.When
	e.SetOutcome("its when", enabled, diags)
	step, diags := l.planner.Workstream(n.ws, e)
	n.step = &step
	if diags = append(e.Diags, diags...); diags.HasErrors() {
		n.unevaluated(diags)
		return
	}
	switch n.step.Decision {
	case plan.Skipped:
		n.skip()
	case plan.Reuse, plan.Judge:
		n.keep()
	case plan.Run, plan.Rerun, plan.Cached:
		if lost := slices.Concat(l.overwriting.unkept(plan.EditedArtifacts(l.facts.Conflicts[n.ws.Name])), l.overwriting.unkeptPartial(n.ws.Name)); len(lost) > 0 {
			err := &ConflictError{Conflicts: lost, Rerun: true}
			n.fail(state.Failure{Workstream: n.ws.Name, Outcome: "conflict", Message: state.Text(err.Error())})
			return
		}
		if l.stopFor(n.editsBefore()) {
			n.end(false)
			return
		}
		l.phase.enter()
		n.startAttempt()
	case plan.Uncertain:
		l.phase.enter()
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
		l.cause.excluded = l.cause.excluded || l.planner.ExclusionReason(n.ws) != ""
		n.end(false)
	}
}

// unevaluated ends a workstream with an expression that can't be evaluated. A completed
// workstream stays complete if the expression only says whether it is enabled, and an
// uncertain one stays uncertain.
func (n *node) unevaluated(diags hcl.Diagnostics) {
	l := n.loop
	f := l.failures.ofExpression(n.ws.Name, "", diags)
	rec := l.session.State().Workstream(n.ws.Name)
	switch {
	case n.step.Decision == plan.Blocked: // the selection leaves it out
		l.cause.excluded = l.cause.excluded || l.planner.ExclusionReason(n.ws) != ""
		n.end(false)
	case rec.Status == state.Uncertain:
		l.warn(n.ws.Name + ": " + string(f.Message))
		n.leaveUncertain()
	case n.step.Decision == plan.Run && rec.Done():
		l.fail(f)
		n.end(false)
	default:
		n.fail(f)
	}
}

func (n *node) skip() {
	l := n.loop
	if rec := l.session.State().Workstream(n.ws.Name); !rec.AllSkipped() {
		l.phase.enter()
		l.recordedFiles.release(rec)
		l.recorder.Add(nil, state.WorkstreamSkipped{Workstream: n.ws.Name, Reason: n.step.Reason})
	}
	l.phase.done(n.ws, false)
	l.recorder.Add(func() { n.end(true) })
}

// keep continues with a workstream that is done: it restores artifacts, records edits, and
// has the gates judged that need a verdict.
func (n *node) keep() {
	l := n.loop
	rec := l.session.State().Workstream(n.ws.Name)
	switch changed := l.facts.Conflicts[n.ws.Name]; {
	case len(n.step.Restores) > 0:
		n.restoreThen(n.keep)
		return
	case len(l.planner.UndecidedConflicts(*n.step)) > 0: // the edit was made after the plan, so no decision about it exists
		l.stopFor(conflicting(n.ws.Name, plan.EditedArtifacts(changed)))
		n.end(false)
		return
	case len(changed) > 0:
		n.takeEdits(changed)
		return
	case len(n.ws.Artifacts) > 0 && len(rec.Artifacts)+len(rec.Edited) == 0 && !rec.Imported:
		n.adopt() // the user or the verify command said that it happened, so its artifacts are not on record
		return
	}
	n.judge()
}

// takeEdits keeps the bytes of edited artifacts and records them as the workstream's
// artifacts.
func (n *node) takeEdits(changed []plan.Conflict) {
	l := n.loop
	current, partial := l.facts.Current[n.ws.Name], recordedOf(l.facts.Partial[n.ws.Name])
	l.spawn("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := hold(within, l.files, current)
		return func() {
			switch {
			case l.cut():
				n.end(false)
				return
			case err != nil:
				n.fail(state.Failure{Workstream: n.ws.Name, Outcome: "result", Message: state.Text(err.Error())})
				return
			}
			paths := make([]state.Text, len(changed))
			for i, c := range changed {
				paths[i] = state.Text(c.Path)
			}
			l.phase.enter()
			l.recordEdited(n.ws, state.SortByPath(slices.Concat(current, partial)), paths)
			n.judge()
		}
	})
}

// recordEdited records artifacts as they are now.
func (l *loop) recordEdited(ws *pipeline.Workstream, artifacts []state.Artifact, edited []state.Text) {
	l.recordedFiles.make(ws, l.surveyor.Extend(ws.ArtifactPatterns), artifacts)
	l.recorder.Add(nil, state.WorkstreamEdited{Workstream: ws.Name, Artifacts: artifacts, Edited: edited})
	delete(l.facts.Conflicts, ws.Name)
}

// adopt records the artifacts of a workstream whose work is done and whose artifacts are
// not on record.
func (n *node) adopt() {
	l := n.loop
	l.spawn("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		artifacts, _, err := l.surveyor.KeepArtifacts(within, n.ws)
		return func() {
			switch {
			case l.cut():
				n.end(false)
			case err != nil:
				n.fail(state.Failure{Workstream: n.ws.Name, Outcome: "result", Message: state.Text(l.o.Mask(err.Error()))})
			default:
				l.phase.enter()
				l.recordEdited(n.ws, artifacts, nil)
				n.judge()
			}
		}
	})
}

// judge judges the gates of a workstream whose work is done, and completes it.
func (n *node) judge() {
	l := n.loop
	l.planner.SetDecision(n.ws.Name, plan.Judge)
	l.judgeAll(n.ws.Gates, func(passed bool) {
		if !passed {
			n.end(false)
			return
		}
		if rec := l.session.State().Workstream(n.ws.Name); rec.Status == state.Completed {
			l.planner.SetDecision(n.ws.Name, plan.Reuse)
			l.phase.done(n.ws, false)
			l.recorder.Add(func() { n.end(true) }) // once the verdicts are durable
			return
		}
		l.phase.enter()
		n.complete(state.WorkstreamCompleted{Workstream: n.ws.Name})
	})
}

// complete records that a workstream is complete, and makes the checkpoints that are due
// then.
func (n *node) complete(e state.WorkstreamCompleted) {
	l := n.loop
	l.planner.SetDecision(n.ws.Name, plan.Reuse)
	l.recorder.Add(nil, e)
	l.captures.takeAtBoundary(func() {
		l.checkpoint(state.TriggerWorkstreamComplete, "")
		l.phase.done(n.ws, true)
	})
	l.recorder.Add(func() { n.end(true) })
}

// fail ends a workstream with a failure. A once step whose work is done becomes
// uncertain instead: a failed workstream would run again, and only the user may decide
// that for a once step.
func (n *node) fail(f state.Failure) {
	l := n.loop
	l.phase.enter()
	if n.ws.Effect == pipeline.Once && l.session.State().Workstream(n.ws.Name).Done() {
		l.recorder.Add(nil, state.WorkstreamUncertain{Workstream: n.ws.Name, Error: f})
		n.leaveUncertain()
		return
	}
	l.recorder.Add(func() { n.end(false) }, state.WorkstreamFailed{Workstream: n.ws.Name, Error: f, Left: n.left})
	l.fail(f)
}

// interrupt leaves a workstream for the next run.
func (n *node) interrupt() {
	n.loop.recorder.Add(func() { n.end(false) }, state.WorkstreamInterrupted{Workstream: n.ws.Name, Attempt: n.attempt})
}

// fail records a failure for the end of the run, and has nothing new start unless the run
// keeps going.
func (l *loop) fail(f state.Failure) {
	l.cause.failures = append(l.cause.failures, f)
	if !l.o.KeepGoing {
		l.halt(stopFailure)
	}
}

// recordedOf returns the artifacts as they are on record.
func recordedOf(partial []plan.PartialArtifact) []state.Artifact {
	all := make([]state.Artifact, len(partial))
	for i, a := range partial {
		all[i] = a.Artifact
	}
	return all
}
