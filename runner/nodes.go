package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// node is a workstream of the current phase while it is dealt with.
type node struct {
	ws         *pipeline.Workstream
	waiting    int     // how many upstream workstreams of the phase are not settled
	dependents []*node // of the same phase

	step    Step
	attempt int
	digest  checkpoint.Digest
	pauses  backoff.BackOff
	retry   *time.Timer // while it waits for its next attempt
	lastErr checkpoint.Failure
	tries   int // how often its verify command said that it did not happen

	ended bool // settled, failed, blocked or waiting: nothing more comes of it now
	ok    bool // settled: its dependents may start
}

// enterPhase makes the nodes of a phase, in the order in which they may start.
func (l *loop) enterPhase(phase *pipeline.Phase) []*node {
	nodes := make([]*node, len(phase.Workstreams))
	byName := make(map[string]*node, len(nodes))
	for i, ws := range phase.Workstreams {
		nodes[i] = &node{ws: ws}
		byName[ws.Name] = nodes[i]
	}
	l.left = make(map[int]int)
	for _, n := range nodes {
		l.left[n.ws.Batch]++
		for _, name := range n.ws.DependsOn {
			if up := byName[name]; up != nil {
				n.waiting++
				up.dependents = append(up.dependents, n)
			}
		}
	}
	return nodes
}

// runPhase runs the workstreams of a phase and then its own gates. It reports
// whether the phase is done with.
func (l *loop) runPhase(ctx context.Context, phase *pipeline.Phase) bool {
	l.entered, l.passed, l.limit, l.inPhase = false, false, phase.MaxParallel, 0
	began := l.o.Now()
	enabled, diags := phase.Enabled(l.pl.results(true))
	if diags.HasErrors() {
		l.fail(l.diagnosed(phase.Name, "", diags))
		return false
	}
	if !enabled {
		l.skipPhase(phase)
		return true
	}
	nodes := l.enterPhase(phase)
	open := len(nodes)
	for _, n := range roots(nodes) {
		l.ready(ctx, n, &open)
	}
	l.cycle(ctx, func() bool { return open == 0 })
	if !l.allPassed(nodes) {
		return false
	}
	if !l.judgePhase(ctx, phase) {
		return false
	}
	if rec := l.x.State().Phase(phase.Name); rec == nil || rec.Status != checkpoint.Completed || l.entered {
		l.passed = true
		l.add(nil, checkpoint.PhaseCompleted{Phase: phase.Name, DurationMS: l.o.Now().Sub(began).Milliseconds()})
	}
	return true
}

// roots are the nodes that wait for no other. They are found before any is
// dealt with, since that may set others free.
func roots(nodes []*node) []*node {
	var free []*node
	for _, n := range nodes {
		if n.waiting == 0 {
			free = append(free, n)
		}
	}
	return free
}

func (l *loop) skipPhase(phase *pipeline.Phase) {
	for _, ws := range phase.Workstreams {
		l.pl.steps[ws.Name] = Step{Kind: WorkstreamStep, Name: ws.Name, Decision: Skipped}
	}
	if rec := l.x.State().Phase(phase.Name); rec == nil || rec.Status != checkpoint.Skipped {
		l.add(nil, checkpoint.PhaseSkipped{Phase: phase.Name, Reason: "its when is false"})
	}
}

func (l *loop) allPassed(nodes []*node) bool {
	for _, n := range nodes {
		if !n.ok {
			return false
		}
	}
	return l.fatal == nil && l.status < stopTimeout
}

// ready deals with a workstream whose upstream is settled. What is known to be
// unchanged since the plan was made is decided at once; anything else takes a
// slot, since its files must be looked at.
func (l *loop) ready(ctx context.Context, n *node, open *int) {
	done := func(ok bool) {
		n.ended, n.ok = true, ok
		*open--
		for _, d := range n.dependents {
			if !ok {
				l.block(d, n.ws.Name, open)
				continue
			}
			if d.waiting--; d.waiting == 0 && !d.ended {
				l.ready(ctx, d, open)
			}
		}
	}
	if step, ok := l.pl.steps[n.ws.Name]; ok && !l.dirty && step.Decision == Reuse {
		l.left[n.ws.Batch]--
		done(true)
		return
	}
	l.queue = append(l.queue, func() { l.consider(ctx, n, done) })
}

// block gives up a workstream for now, and all that depends on it.
func (l *loop) block(n *node, on string, open *int) {
	if n.ended {
		return
	}
	n.ended = true
	*open--
	l.pl.steps[n.ws.Name] = Step{Kind: WorkstreamStep, Name: n.ws.Name, Decision: Blocked, On: []string{on}}
	for _, d := range n.dependents {
		l.block(d, on, open)
	}
}

// consider looks at the files that concern a workstream, and decides it.
func (l *loop) consider(ctx context.Context, n *node, done func(bool)) {
	rec := l.x.State().Workstream(n.ws.Name)
	if len(n.ws.Inputs) == 0 && (rec == nil || len(rec.Artifacts) == 0 || rec.Status == checkpoint.Pending) {
		l.decided(ctx, n, done)
		return
	}
	var snapshot *checkpoint.Workstream
	if rec != nil {
		c := *rec
		snapshot = &c
	}
	l.inPhase++
	l.spawn(ctx, "survey "+n.ws.Name, func(within context.Context) func() {
		found := newFacts()
		err := l.sv.workstream(within, found, n.ws, snapshot)
		return func() {
			l.inPhase--
			switch {
			case l.status >= stopTimeout:
				done(false)
			case err != nil:
				l.failWorkstream(n, checkpoint.Failure{Workstream: n.ws.Name, Outcome: "error", Message: checkpoint.Text(err.Error())}, done)
			default:
				l.facts.merge(found)
				l.decided(ctx, n, done)
			}
		}
	})
}

// decided does with a workstream what the deciding function says.
func (l *loop) decided(ctx context.Context, n *node, done func(bool)) {
	enabled, diags := n.ws.Enabled(l.pl.results(n.ws.NeedsResults()))
	if diags.HasErrors() {
		l.failWorkstream(n, l.diagnosed(n.ws.Name, "", diags), done)
		return
	}
	skip := ""
	if !enabled {
		skip = "its when is false"
	}
	n.step, diags = l.pl.workstream(n.ws, skip)
	if diags.HasErrors() {
		l.failWorkstream(n, l.diagnosed(n.ws.Name, "", diags), done)
		return
	}
	switch n.step.Decision {
	case Skipped:
		l.skipWorkstream(n, done)
	case Reuse, Judge:
		l.keep(ctx, n, done)
	case Run, Rerun:
		if lost := edited(l.facts.conflicts[n.ws.Name]); len(lost) > 0 && l.o.OnConflict != ConflictRestore {
			err := &ConflictError{Conflicts: lost, Rerun: true}
			l.failWorkstream(n, checkpoint.Failure{Workstream: n.ws.Name, Outcome: "conflict", Message: checkpoint.Text(err.Error())}, done)
			return
		}
		l.enter(n.ws.Phase)
		l.dirty = true
		l.attemptNext(ctx, n, done)
	case Uncertain:
		l.enter(n.ws.Phase)
		if rec := l.x.State().Workstream(n.ws.Name); rec.Status != checkpoint.Uncertain {
			l.add(nil, checkpoint.WorkstreamUncertain{Workstream: n.ws.Name, Error: checkpoint.Failure{
				Workstream: n.ws.Name, Outcome: "unknown", Message: checkpoint.Text(n.step.Reason),
			}})
		}
		l.uncertain(ctx, n, done)
	case Blocked, Depends:
		l.cause.excluded = l.cause.excluded || l.pl.choose.excluded(n.ws) != ""
		done(false)
	}
}

func (l *loop) skipWorkstream(n *node, done func(bool)) {
	if rec := l.x.State().Workstream(n.ws.Name); rec != nil && rec.Status == checkpoint.Skipped {
		done(true)
		return
	}
	l.enter(n.ws.Phase)
	l.dirty = true
	l.left[n.ws.Batch]--
	l.add(func() { done(true) }, checkpoint.WorkstreamSkipped{Workstream: n.ws.Name, Reason: checkpoint.Text(n.step.Reason)})
}

// keep goes on with work that is done: edits are recorded, gates judged where
// they must be.
func (l *loop) keep(ctx context.Context, n *node, done func(bool)) {
	if edited := l.facts.conflicts[n.ws.Name]; len(edited) > 0 {
		l.enter(n.ws.Phase)
		l.dirty = true
		paths := make([]checkpoint.Text, len(edited))
		for i, c := range edited {
			paths[i] = checkpoint.Text(c.Path)
		}
		l.add(nil, checkpoint.WorkstreamEdited{Workstream: n.ws.Name, Artifacts: l.facts.current[n.ws.Name], Edited: paths})
		delete(l.facts.conflicts, n.ws.Name)
	}
	l.pl.steps[n.ws.Name] = Step{Kind: WorkstreamStep, Name: n.ws.Name, Decision: Judge}
	l.judgeAll(ctx, n.ws.Gates, l.o.KeepGoing, func(passed bool) { l.judged(n, passed, done) })
}

// judged ends a workstream whose work is done, once its gates have been dealt with.
func (l *loop) judged(n *node, passed bool, done func(bool)) {
	if !passed {
		done(false)
		return
	}
	l.pl.steps[n.ws.Name] = Step{Kind: WorkstreamStep, Name: n.ws.Name, Decision: Reuse}
	if rec := l.x.State().Workstream(n.ws.Name); rec != nil && rec.Status == checkpoint.Completed {
		l.left[n.ws.Batch]--
		done(true)
		return
	}
	l.enter(n.ws.Phase)
	l.complete(n, checkpoint.WorkstreamCompleted{Workstream: n.ws.Name}, done)
}

// complete records a completion, with the checkpoints that are due at it.
func (l *loop) complete(n *node, e checkpoint.WorkstreamCompleted, done func(bool)) {
	l.pl.steps[n.ws.Name] = Step{Kind: WorkstreamStep, Name: n.ws.Name, Decision: Reuse}
	l.add(nil, e)
	l.checkpoint(checkpoint.TriggerWorkstreamComplete, "")
	if l.left[n.ws.Batch]--; l.left[n.ws.Batch] == 0 {
		l.checkpoint(checkpoint.TriggerBatchComplete, fmt.Sprintf("batch %d", n.ws.Batch))
	}
	l.add(func() { done(true) })
}

// enter records that the phase has begun, the first time something happens in it.
func (l *loop) enter(phase *pipeline.Phase) {
	if !l.entered {
		l.entered = true
		l.add(nil, checkpoint.PhaseStarted{Phase: phase.Name})
	}
}

// failWorkstream ends a workstream with a failure.
func (l *loop) failWorkstream(n *node, f checkpoint.Failure, done func(bool)) {
	l.enter(n.ws.Phase)
	l.dirty = true
	l.add(func() { done(false) }, checkpoint.WorkstreamFailed{Workstream: n.ws.Name, Error: f})
	l.fail(f)
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

// merge takes in what was found for one workstream.
func (f *Facts) merge(found *Facts) {
	for name, files := range found.inputs {
		f.inputs[name] = files
		f.conflicts[name] = found.conflicts[name]
		f.current[name] = found.current[name]
	}
}
