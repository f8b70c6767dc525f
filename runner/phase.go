package runner

import (
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// phaseRun is the phase that is being run.
type phaseRun struct {
	phase   *pipeline.Phase
	open    int          // nodes that have not ended
	busy    int          // slots in use by its workstreams
	entered bool         // the phase was recorded as started in this run
	passed  bool         // it was completed in this run
	left    map[int]int  // by batch: workstreams that are not complete
	ran     map[int]bool // by batch: whether one was completed in this run
}

// free reports whether the phase's own limit lets another workstream start.
func (p *phaseRun) free() bool { return p.phase.MaxParallel == 0 || p.busy < p.phase.MaxParallel }

// runPhase runs the workstreams of a phase and then its own gates. It reports whether the
// phase is complete or skipped.
func (l *loop) runPhase(phase *pipeline.Phase) bool {
	began := l.o.Now()
	l.phase = &phaseRun{phase: phase, left: make(map[int]int), ran: make(map[int]bool)}
	enabled, diags := phase.Enabled(l.pl.Results(true, 0))
	if diags.HasErrors() {
		chosen := func(ws *pipeline.Workstream) bool { return l.pl.Excluded(ws) == "" }
		if slices.ContainsFunc(phase.Workstreams, chosen) {
			l.fail(l.diagnosed(phase.Name, "", diags))
		} else {
			l.cause.excluded = true
		}
		return false
	}
	switch {
	case !enabled && l.pl.Leaves(phase):
		l.cause.excluded = true
		return false
	case !enabled:
		l.skipPhase(phase)
		return l.recheck(phase)
	}
	nodes := l.enterPhase(phase)
	// roots is called before any node starts, since a node that ends at once makes its
	// dependents ready.
	for _, n := range roots(nodes) {
		n.queue()
	}
	l.cycle(func() bool { return l.phase.open == 0 })
	if !allOK(nodes) || l.cut() || !l.judgePhase(phase) || !l.recheck(phase) {
		return false
	}
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n *node) bool { return !n.skipped() }) {
		l.recordSkipped(phase, nodes[0].step.Reason)
		return true
	}
	if rec := l.x.State().Phase(phase.Name); rec == nil || rec.Status != state.Completed || l.phase.entered {
		l.phase.passed = true
		l.rec.Add(nil, state.PhaseCompleted{Phase: phase.Name, DurationMS: l.o.Now().Sub(began).Milliseconds()})
	}
	return true
}

// enterPhase returns a node for each workstream of a phase.
func (l *loop) enterPhase(phase *pipeline.Phase) []*node {
	nodes := make([]*node, len(phase.Workstreams))
	byName := make(map[string]*node, len(nodes))
	for i, ws := range phase.Workstreams {
		nodes[i] = &node{l: l, ws: ws}
		byName[ws.Name] = nodes[i]
	}
	l.phase.open = len(nodes)
	for _, n := range nodes {
		l.phase.left[n.ws.Batch]++
		for _, name := range n.ws.DependsOn {
			if up := byName[name]; up != nil {
				n.waiting++
				up.dependents = append(up.dependents, n)
			}
		}
	}
	return nodes
}

// roots returns the nodes that wait for no other node.
func roots(nodes []*node) []*node {
	var free []*node
	for _, n := range nodes {
		if n.waiting == 0 {
			free = append(free, n)
		}
	}
	return free
}

func allOK(nodes []*node) bool {
	for _, n := range nodes {
		if !n.ok {
			return false
		}
	}
	return true
}

func (l *loop) skipPhase(phase *pipeline.Phase) {
	for _, ws := range phase.Workstreams {
		l.pl.Mark(ws.Name, plan.Skipped)
	}
	l.recordSkipped(phase, "its when is false")
}

// recordSkipped records that a phase is skipped, by its own when or since each of its
// workstreams is skipped. It records that again if the phase has new workstreams or gates
// since it was recorded.
func (l *loop) recordSkipped(phase *pipeline.Phase, reason state.Text) {
	if !l.x.State().Phase(phase.Name).AllSkipped() {
		for _, ws := range phase.Workstreams {
			l.recordedFiles.release(l.x.State().Workstream(ws.Name))
		}
		l.rec.Add(nil, state.PhaseSkipped{Phase: phase.Name, Reason: reason})
	}
}

// enter records that the phase has begun, unless this run has recorded that already. From
// then on the plan may be out of date.
func (l *loop) enter() {
	l.dirty = true
	if !l.phase.entered {
		l.phase.entered = true
		l.rec.Add(nil, state.PhaseStarted{Phase: l.phase.phase.Name})
	}
}

// member removes a workstream that is complete or skipped from its batch. When the last
// workstream is removed and any of them ran, member makes the checkpoint of the batch.
func (l *loop) member(ws *pipeline.Workstream, ran bool) {
	p := l.phase
	p.left[ws.Batch]--
	p.ran[ws.Batch] = p.ran[ws.Batch] || ran
	if p.left[ws.Batch] == 0 && p.ran[ws.Batch] {
		l.checkpoint(state.TriggerBatchComplete, fmt.Sprintf("batch %d", ws.Batch))
	}
}
