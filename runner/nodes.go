package runner

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
	"prdrunner/runner/schedule"
)

// node is a workstream of the current phase during a run. It ends once, through
// loop.end: complete, skipped, failed, blocked or left for the next run.
type node struct {
	ws         *pipeline.Workstream
	waiting    int     // how many upstream workstreams of the phase are not ok
	dependents []*node // of the same phase

	ready   time.Time  // when the last of its upstream was ok
	step    *plan.Step // what was decided; once it ended, only of one that was skipped
	attempt int
	digest  checkpoint.Digest

	tries  int                   // attempts in this run that have ended
	pauses backoff.BackOff       // between its attempts
	left   []checkpoint.Artifact // by the attempt that has ended, until that is on record
	looked bool                  // for partial work, which its first attempt in a run takes back

	ended bool
	ok    bool // complete or skipped: its dependents may start
}

// ready queues a workstream whose upstream is complete or skipped. A workstream that the
// plan reuses ends at once while nothing has run; any other takes a slot, since its files
// must be read again.
func (l *loop) ready(n *node) {
	if step, ok := l.pl.Step(n.ws.Name); ok && !l.dirty && step.Decision == plan.Reuse && len(step.Restores) == 0 {
		l.member(n.ws, false)
		l.end(n, true)
		return
	}
	n.ready = l.o.Now()
	l.slots.Add(l.job(n, l.consider))
}

// job has the scheduler start a workstream, or leave it for the next run.
func (l *loop) job(n *node, start func(*node)) schedule.Job {
	return schedule.Job{Start: func() { start(n) }, Drop: func() { l.end(n, false) }}
}

// end ends a workstream for this run. Its dependents may start, or can't.
func (l *loop) end(n *node, ok bool) {
	if n.ended {
		return
	}
	n.ended, n.ok = true, ok
	n.forget()
	l.phase.open--
	for _, d := range n.dependents {
		if !ok {
			l.block(d, n.ws.Name)
			continue
		}
		if d.waiting--; d.waiting == 0 && !d.ended {
			l.ready(d)
		}
	}
}

// forget lets go of what only a workstream that is dealt with needs: there may
// be very many that have ended.
func (n *node) forget() {
	if !n.skipped() {
		n.step = nil
	}
	n.digest, n.pauses = checkpoint.Digest{}, nil
}

func (n *node) skipped() bool { return n.step != nil && n.step.Decision == plan.Skipped }

// block gives up a workstream for now, and all that depends on it.
func (l *loop) block(n *node, on string) {
	l.pl.Set(plan.Step{Kind: plan.WorkstreamStep, Name: n.ws.Name, Decision: plan.Blocked, On: []string{on}})
	l.end(n, false)
}

// consider looks at the files that concern a workstream, and decides it.
func (l *loop) consider(n *node) {
	rec := l.x.State().Workstream(n.ws.Name)
	overwrites := l.recordedFiles.under(l.sv.Extend(n.ws.ArtifactPatterns))
	if len(n.ws.Inputs) == 0 && (len(rec.Artifacts) == 0 || rec.Status == checkpoint.Pending) && !overwrites {
		l.decided(n)
		return
	}
	snapshot := *rec
	found := plan.NewFacts(l.x.State())
	l.spawn("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := l.sv.Workstream(within, found, n.ws, &snapshot)
		if err == nil && overwrites {
			err = l.sv.GatherUnder(within, found, n.ws)
		}
		return func() {
			switch {
			case l.status != running: // looking was all that it had begun
				l.end(n, false)
			case err != nil:
				l.failWorkstream(n, checkpoint.Failure{Workstream: n.ws.Name, Outcome: "error", Message: checkpoint.Text(err.Error())})
			default:
				l.facts.Merge(found)
				l.decided(n)
			}
		}
	})
}

// decided does with a workstream what the deciding function says.
func (l *loop) decided(n *node) {
	enabled, diags := n.ws.Enabled(l.pl.Results(n.ws.NeedsResults(), 0))
	var e plan.When
	e.Judge("its when", enabled, diags)
	step, diags := l.pl.Workstream(n.ws, e)
	n.step = &step
	if diags = append(e.Diags, diags...); diags.HasErrors() {
		l.unevaluated(n, diags)
		return
	}
	switch n.step.Decision {
	case plan.Skipped:
		l.skipWorkstream(n)
	case plan.Reuse, plan.Judge:
		l.keep(n)
	case plan.Run, plan.Rerun, plan.Cached:
		if lost := slices.Concat(l.unkept(plan.Edited(l.facts.Conflicts[n.ws.Name])), l.unkeptPartial(n.ws.Name)); len(lost) > 0 {
			err := &ConflictError{Conflicts: lost, Rerun: true}
			l.failWorkstream(n, checkpoint.Failure{Workstream: n.ws.Name, Outcome: "conflict", Message: checkpoint.Text(err.Error())})
			return
		}
		if l.stopFor(l.editsBefore(n.ws)) {
			l.end(n, false)
			return
		}
		l.enter()
		l.attemptNext(n)
	case plan.Uncertain:
		l.enter()
		if rec := l.x.State().Workstream(n.ws.Name); rec.Status != checkpoint.Uncertain {
			e := checkpoint.WorkstreamUncertain{Workstream: n.ws.Name, Error: checkpoint.Failure{
				Workstream: n.ws.Name, Outcome: "unknown", Message: n.step.Reason,
			}}
			if n.step.Happened != nil || plan.Done(rec) {
				e.Error.Outcome = checkpoint.OutcomeHappened
			}
			if of := l.pl.Formerly(n.ws, rec); of != nil {
				e.SameAs = of.Name
			}
			l.add(nil, e)
		}
		l.uncertain(n)
	case plan.Blocked, plan.Depends:
		l.cause.excluded = l.cause.excluded || l.pl.Excluded(n.ws) != ""
		l.end(n, false)
	}
}

// unevaluated ends a workstream of which an expression can't be evaluated. What
// is done stays done where that only says whether it is enabled, and what may
// have happened stays uncertain.
func (l *loop) unevaluated(n *node, diags hcl.Diagnostics) {
	f := l.diagnosed(n.ws.Name, "", diags)
	rec := l.x.State().Workstream(n.ws.Name)
	switch {
	case n.step.Decision == plan.Blocked: // it was not chosen
		l.cause.excluded = l.cause.excluded || l.pl.Excluded(n.ws) != ""
		l.end(n, false)
	case rec.Status == checkpoint.Uncertain:
		l.warn(n.ws.Name + ": " + string(f.Message))
		l.leaveUncertain(n)
	case n.step.Decision == plan.Run && plan.Done(rec):
		l.fail(f)
		l.end(n, false)
	default:
		l.failWorkstream(n, f)
	}
}

func (l *loop) skipWorkstream(n *node) {
	if rec := l.x.State().Workstream(n.ws.Name); !rec.AllSkipped() {
		l.enter()
		l.recordedFiles.release(rec)
		l.add(nil, checkpoint.WorkstreamSkipped{Workstream: n.ws.Name, Reason: n.step.Reason})
	}
	l.member(n.ws, false)
	l.add(func() { l.end(n, true) })
}

// keep goes on with work that is done: edits are recorded, and gates judged
// where they must be.
func (l *loop) keep(n *node) {
	rec := l.x.State().Workstream(n.ws.Name)
	switch changed := l.facts.Conflicts[n.ws.Name]; {
	case len(n.step.Restores) > 0:
		l.restoreThen(n, func() { l.keep(n) })
		return
	case len(l.pl.Undecided(*n.step)) > 0: // nobody could decide: it was made since the plan was
		l.stopFor(conflicting(n.ws.Name, plan.Edited(changed)))
		l.end(n, false)
		return
	case len(changed) > 0:
		l.takeEdits(n, changed)
		return
	case len(n.ws.Artifacts) > 0 && len(rec.Artifacts)+len(rec.Edited) == 0 && !rec.Imported:
		l.adopt(n) // somebody said that it happened; nobody looked at what it made
		return
	}
	l.judgeWorkstream(n)
}

// takeEdits keeps artifacts as somebody has edited them.
func (l *loop) takeEdits(n *node, changed []plan.Conflict) {
	current, partial := l.facts.Current[n.ws.Name], plan.RecordedOf(l.facts.Partial[n.ws.Name])
	l.spawn("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		err := hold(within, l.files, current)
		return func() {
			switch {
			case l.cut():
				l.end(n, false)
				return
			case err != nil:
				l.failWorkstream(n, checkpoint.Failure{Workstream: n.ws.Name, Outcome: "result", Message: checkpoint.Text(err.Error())})
				return
			}
			paths := make([]checkpoint.Text, len(changed))
			for i, c := range changed {
				paths[i] = checkpoint.Text(c.Path)
			}
			l.enter()
			l.recordEdited(n.ws, plan.SortedByPath(slices.Concat(current, partial)), paths)
			l.judgeWorkstream(n)
		}
	})
}

// recordEdited puts artifacts on record as they are now.
func (l *loop) recordEdited(ws *pipeline.Workstream, artifacts []checkpoint.Artifact, edited []checkpoint.Text) {
	l.recordedFiles.make(ws, l.sv.Extend(ws.ArtifactPatterns), artifacts)
	l.add(nil, checkpoint.WorkstreamEdited{Workstream: ws.Name, Artifacts: artifacts, Edited: edited})
	delete(l.facts.Conflicts, ws.Name)
}

// adopt records the artifacts of work whose end nobody saw.
func (l *loop) adopt(n *node) {
	l.spawn("survey "+n.ws.Name, workstreamSlot, func(within context.Context) func() {
		artifacts, _, err := l.sv.KeepArtifacts(within, n.ws)
		return func() {
			switch {
			case l.cut():
				l.end(n, false)
			case err != nil:
				l.failWorkstream(n, checkpoint.Failure{Workstream: n.ws.Name, Outcome: "result", Message: checkpoint.Text(l.o.Mask(err.Error()))})
			default:
				l.enter()
				l.recordEdited(n.ws, artifacts, nil)
				l.judgeWorkstream(n)
			}
		}
	})
}

// judgeWorkstream judges the gates of work that is done, and completes it.
func (l *loop) judgeWorkstream(n *node) {
	l.pl.Mark(n.ws.Name, plan.Judge)
	l.judgeAll(n.ws.Gates, func(passed bool) {
		if !passed {
			l.end(n, false)
			return
		}
		if rec := l.x.State().Workstream(n.ws.Name); rec.Status == checkpoint.Completed {
			l.pl.Mark(n.ws.Name, plan.Reuse)
			l.member(n.ws, false)
			l.add(func() { l.end(n, true) }) // with the verdicts
			return
		}
		l.enter()
		l.complete(n, checkpoint.WorkstreamCompleted{Workstream: n.ws.Name})
	})
}

// complete records a completion, with the checkpoints that are due at it.
func (l *loop) complete(n *node, e checkpoint.WorkstreamCompleted) {
	l.pl.Mark(n.ws.Name, plan.Reuse)
	l.add(nil, e)
	l.captureBoundary(func() {
		l.checkpoint(checkpoint.TriggerWorkstreamComplete, "")
		l.member(n.ws, true)
	})
	l.add(func() { l.end(n, true) })
}

// failWorkstream ends a workstream with a failure. A once step whose work is
// done becomes uncertain, since what has failed is tried again: that is for a
// person, too.
func (l *loop) failWorkstream(n *node, f checkpoint.Failure) {
	l.enter()
	if n.ws.Effect == pipeline.Once && plan.Done(l.x.State().Workstream(n.ws.Name)) {
		l.add(nil, checkpoint.WorkstreamUncertain{Workstream: n.ws.Name, Error: f})
		l.leaveUncertain(n)
		return
	}
	l.add(func() { l.end(n, false) }, checkpoint.WorkstreamFailed{Workstream: n.ws.Name, Error: f, Left: n.left})
	l.fail(f)
}

// interruptWorkstream leaves a workstream for the next run.
func (l *loop) interruptWorkstream(n *node) {
	l.add(func() { l.end(n, false) }, checkpoint.WorkstreamInterrupted{Workstream: n.ws.Name, Attempt: n.attempt})
}

// fail records a failure for the end, and stops what has not begun.
func (l *loop) fail(f checkpoint.Failure) {
	l.cause.failures = append(l.cause.failures, f)
	if !l.o.KeepGoing {
		l.halt(stopFailure)
	}
}

// diagnosed makes a failure of an expression that could not be evaluated.
func (l *loop) diagnosed(owner, gate string, diags hcl.Diagnostics) checkpoint.Failure {
	f := checkpoint.Failure{Workstream: owner, Gate: gate, Outcome: "error"}
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		f.Message = checkpoint.Text(l.o.Mask(d.Summary + ": " + d.Detail))
		if d.Subject != nil {
			f.File, f.Line, f.Column = checkpoint.Text(l.p.Source), d.Subject.Start.Line, d.Subject.Start.Column
		}
		break
	}
	return f
}
