package runner

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// phaseRun is the phase that is being run.
type phaseRun struct {
	loop            *loop
	phase           *pipeline.Phase
	unfinishedNodes int          // nodes that have not ended
	busySlots       int          // slots that its workstreams use
	calls           int          // workstreams that call a pipeline
	entered         bool         // the phase was recorded as started in this run
	passed          bool         // it was completed in this run
	openInBatch     map[int]int  // by batch: how many workstreams are neither complete nor skipped
	ranInBatch      map[int]bool // by batch: whether a workstream was completed in this run

	// Of the current iteration of a phase that repeats:
	failuresBefore int  // how many failures the run had when the iteration began
	unsatisfied    bool // its condition does not hold
	broken         bool // its condition can't be evaluated
}

// hasFreeSlot reports whether max_parallel of the phase lets another workstream start.
func (p *phaseRun) hasFreeSlot() bool {
	return p.phase.MaxParallel == 0 || p.busySlots < p.phase.MaxParallel
}

// callShare returns how many processes a called pipeline may run at once: its share of the
// limit of this run, if all calls of the phase run at the same time.
func (p *phaseRun) callShare() int {
	return max(1, p.loop.opts.Parallel/max(1, p.calls))
}

// runPhase runs a phase. It reports whether the phase is complete or skipped.
func (l *loop) runPhase(phase *pipeline.Phase) bool {
	l.phase = &phaseRun{loop: l, phase: phase}
	defer l.services.stopPhase(l.phase)
	return l.phase.run()
}

// run runs the workstreams of the phase and then its own gates, and repeats that if the
// phase says so.
func (p *phaseRun) run() bool {
	l, phase := p.loop, p.phase
	began := l.opts.Now()
	if phase.RunOn == pipeline.RunOnFailed && len(l.cause.failures) == 0 {
		return p.skip(plan.NothingFailed)
	}
	enabled, diags := phase.Enabled(l.planner.Results(true, 0))
	switch {
	case diags.HasErrors():
		p.failUnevaluated(diags)
		return false
	case !enabled:
		return p.skip("its when is false")
	}
	if err := p.expand(); err != nil {
		p.loop.addFailure(state.Failure{Workstream: phase.Name, Outcome: "error", Message: state.Text(l.opts.Mask(err.Error()))}, true)
		return false
	}
	nodes, passed := p.runIteration()
	for !passed {
		if !p.repeat() {
			return false
		}
		nodes, passed = p.runIteration()
	}
	if !p.recheck() {
		return false
	}
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n *node) bool { return !n.skipped() }) {
		p.recordSkipped(nodes[0].step.Reason)
		return true
	}
	if rec := l.session.State().Phase(phase.Name); rec == nil || rec.Status != state.Completed || p.entered {
		p.passed = true
		l.recorder.Add(nil, state.PhaseCompleted{Phase: phase.Name, DurationMS: l.opts.Now().Sub(began).Milliseconds()})
	}
	return true
}

// runIteration runs the workstreams of the phase and then its own gates, once. It reports
// whether everything has passed.
func (p *phaseRun) runIteration() (nodes []*node, passed bool) {
	l := p.loop
	p.failuresBefore, p.unsatisfied = len(l.cause.failures), false
	p.openInBatch, p.ranInBatch = make(map[int]int), make(map[int]bool)
	nodes = p.makeNodes()
	// readyNodes is called before any node starts, since a node that ends at once makes its
	// dependents ready.
	for _, n := range readyNodes(nodes) {
		n.enqueue()
	}
	l.runUntil(func() bool { return p.unfinishedNodes == 0 })
	return nodes, allDone(nodes) && !l.tasksCancelled() && p.isSatisfied() && p.judgeGates()
}

// failUnevaluated fails a phase whose when can't be evaluated, unless the selection
// leaves out all its workstreams.
func (p *phaseRun) failUnevaluated(diags hcl.Diagnostics) {
	chosen := func(ws *pipeline.Workstream) bool { return p.loop.planner.ExclusionReason(ws) == "" }
	if slices.ContainsFunc(p.phase.Workstreams, chosen) {
		p.loop.addFailure(p.loop.failures.expressionFailure(p.phase.Name, "", diags), true)
	} else {
		p.loop.cause.excluded = true
	}
}

// makeNodes returns a node for each workstream of the phase.
func (p *phaseRun) makeNodes() []*node {
	nodes := make([]*node, len(p.phase.Workstreams))
	byName := make(map[string]*node, len(nodes))
	for i, ws := range p.phase.Workstreams {
		nodes[i] = &node{loop: p.loop, ws: ws}
		byName[ws.Name] = nodes[i]
	}
	p.unfinishedNodes, p.calls = len(nodes), 0
	for _, n := range nodes {
		if n.ws.Calls != "" {
			p.calls++
		}
		p.openInBatch[n.ws.Batch]++
		for _, name := range n.ws.DependsOn {
			if up := byName[name]; up != nil {
				n.pendingUpstream++
				up.dependents = append(up.dependents, n)
			}
		}
	}
	return nodes
}

// readyNodes returns the nodes that wait for no other node.
func readyNodes(nodes []*node) []*node {
	var free []*node
	for _, n := range nodes {
		if n.pendingUpstream == 0 {
			free = append(free, n)
		}
	}
	return free
}

func allDone(nodes []*node) bool {
	for _, n := range nodes {
		if !n.done {
			return false
		}
	}
	return true
}

// skip skips the phase, unless the selection leaves out some of its workstreams. It reports
// whether the run may continue.
func (p *phaseRun) skip(reason state.Text) bool {
	if p.loop.planner.LeavesUntouched(p.phase) {
		p.loop.cause.excluded = true
		return false
	}
	for _, ws := range p.phase.Workstreams {
		p.loop.planner.SetDecision(ws.Name, plan.Skipped)
	}
	p.recordSkipped(reason)
	return p.recheck()
}

// recordSkipped records that the phase is skipped, by its own when or because all its
// workstreams are skipped. It records that again if the phase has got new workstreams or
// gates.
func (p *phaseRun) recordSkipped(reason state.Text) {
	st := p.loop.session.State()
	if st.Phase(p.phase.Name).AllSkipped() {
		return
	}
	for _, ws := range p.phase.Workstreams {
		p.loop.recordedFiles.ForgetArtifacts(st.Workstream(ws.Name))
	}
	p.loop.recorder.Add(nil, state.PhaseSkipped{Phase: p.phase.Name, Reason: reason})
}

// recordStarted records that the phase has begun, unless this run has recorded that
// already. From then on the plan may be out of date.
func (p *phaseRun) recordStarted() {
	p.loop.planOutdated = true
	if !p.entered {
		p.entered = true
		p.forgetLater()
		p.loop.recorder.Add(nil, state.PhaseStarted{Phase: p.phase.Name})
	}
}

// forgetLater forgets the verdicts of the later phases that run after failures, too. After a run
// that failed, they have run before this phase has passed, and will run again.
func (p *phaseRun) forgetLater() {
	for _, later := range p.loop.pipeline.Phases[p.phase.Number:] {
		if later.RunOn != pipeline.RunOnSucceeded {
			p.loop.forgetVerdicts(later)
		}
	}
}

// finishWorkstream counts a complete or skipped workstream of a batch. After the last one
// it makes the checkpoint of the batch, unless none of them ran.
func (p *phaseRun) finishWorkstream(ws *pipeline.Workstream, ran bool) {
	p.openInBatch[ws.Batch]--
	p.ranInBatch[ws.Batch] = p.ranInBatch[ws.Batch] || ran
	if p.openInBatch[ws.Batch] == 0 && p.ranInBatch[ws.Batch] {
		p.loop.addCheckpoint(state.TriggerBatchComplete, fmt.Sprintf("batch %d", ws.Batch))
	}
}

// judgeGates judges the phase's own gates, once its workstreams are done.
func (p *phaseRun) judgeGates() bool {
	ended, passed := false, false
	p.loop.judgeAll(p.phase.Gates, func(ok bool) { ended, passed = true, ok })
	p.loop.runUntil(func() bool { return ended })
	return ended && passed && !p.loop.tasksCancelled()
}
