//go:build unix

package runner_test

import (
	"maps"
	"slices"

	"prdrunner/checkpoint/state"
)

// Which failures the pipeline allows, and what the run still comes to after the others.

// gateFailed returns the status of a gate of a workstream that failed in this run, or was
// rejected, which counts more. It returns "" if there is none.
func (m *model) gateFailed(name string) (how state.StepStatus) {
	for _, g := range m.work(name).Gates {
		is := m.gates[g.label(name)]
		if m.current(is) && (is.status == state.Failed && how == "" || is.status == state.Rejected) {
			how = is.status
		}
	}
	return how
}

// permits reports whether the pipeline allows that a workstream fails because one of its gates
// does.
func (m *model) permits(name string, how state.StepStatus) bool {
	return how == state.Failed && m.mayFail(name)
}

// mayFail reports whether the pipeline allows now that a workstream fails.
func (m *model) mayFail(name string) bool { return m.work(name).Permits && !m.v.harsh[name] }

// failsFast reports whether a failure of a workstream keeps others from starting.
func (m *model) failsFast(name string) bool {
	if own := m.work(name).FailFast; own != "" {
		return own == "true"
	}
	return m.h.Phases[m.phaseOf(name)].FailFast != "false"
}

// failedBefore reports whether a failure on record counts, because the pipeline allows it.
func (m *model) failedBefore(name string) bool {
	w := m.works[name]
	return w.status == state.Failed && w.permitted && m.mayFail(name) && !m.failedGateChanged(name)
}

// stands reports whether a failure counts as a result, and nothing has changed since.
func (m *model) stands(name string) bool {
	return m.failedBefore(name) && !m.run.left[name] && !m.off(name) && len(m.reasons(name)) == 0
}

// failedGateChanged reports whether the gate changed by which a workstream failed. That of a
// condition can't be told, because it uses an output that a failed workstream does not have.
func (m *model) failedGateChanged(name string) bool {
	is := m.gates[m.works[name].failure]
	if is == nil {
		return false
	}
	g, owner := m.gate(m.works[name].failure)
	definition, _ := m.binding(g, owner)
	return g.Kind != kindCondition && is.definition != definition
}

// finished reports whether nothing is left to do for a workstream. One that a failure blocks is
// not finished, whatever an earlier run has made of it.
func (m *model) finished(name string) bool {
	return (m.isComplete(name) || m.stands(name)) && !m.fate(name).must(fateBlocked)
}

// gateWaits reports whether a gate of a workstream runs or waits for an answer, so that the
// workstream has not ended.
func (m *model) gateWaits(name string) bool {
	return slices.ContainsFunc(m.work(name).Gates, func(g histGate) bool {
		is := m.gates[g.label(name)]
		return is.status == state.Running || m.run.act.KeepGoing && is.status == state.Waiting
	})
}

// late reports whether a workstream may start after a failure.
func (m *model) late(name string) bool { return m.work(name).RunOn != "" }

// stops reports whether the run was stopped, so that it does not start a workstream.
func (m *model) stops(name string) bool {
	r := m.run
	return m.haltedIn(m.phaseOf(name)) && (r.stopped || !r.failing || !m.late(name))
}

// haltedIn reports whether the run was stopped, so that it starts nothing in a phase but what
// runs after failures. A failure in an earlier phase does not stop a phase that runs after
// failures.
func (m *model) haltedIn(p int) bool {
	r := m.run
	upTo := len(r.fastIn) > 0 && p <= slices.Max(slices.Collect(maps.Keys(r.fastIn)))
	return r.halted && (r.stopped || !r.failing || upTo)
}

// stopsAll reports whether the run was stopped by more than failures.
func (m *model) stopsAll() bool {
	r := m.run
	return r.stopped || r.signal || r.asked || m.reviewing(anyPhase, false) || !r.act.KeepGoing && m.stuck(false) || len(m.usedUpAnywhere()) > 0
}

// firstFailure returns the number of the first phase that has failed in this run, among those
// before a phase, or the number of that phase.
func (m *model) firstFailure(before int) int {
	first := before
	for _, what := range m.run.failures {
		first = min(first, m.phaseOfStep(what))
	}
	for p := range max(first, 0) {
		if m.exhausted(p) {
			return p
		}
		if !m.left(p) || !m.phaseIsComplete(p) {
			break
		}
	}
	return first
}

// passedOver reports whether the run does not come to a phase, because an earlier one failed.
func (m *model) passedOver(p int) bool { return m.firstFailure(p) < p && m.h.Phases[p].RunOn == "" }

// phaseOff reports whether the run skips a phase, because no earlier one failed.
func (m *model) phaseOff(p int) bool {
	return m.h.Phases[p].RunOn == onFailed && m.firstFailure(p) >= p && m.comesToPhase(p)
}

// comesToPhase reports whether the phases before a phase have ended in a way after which it
// runs, or is skipped.
func (m *model) comesToPhase(p int) bool {
	first := m.firstFailure(p)
	if m.passedOver(p) || !m.reviewPasses() {
		return false
	}
	for earlier := range p {
		if earlier < first && (!m.left(earlier) || !m.phaseIsComplete(earlier)) {
			return false
		}
		if slices.ContainsFunc(m.h.Phases[earlier].Works, func(w histWork) bool { return m.works[w.Name].status == state.Running }) {
			return false
		}
	}
	return true
}

// phasesBefore is the name under which the plan lists that work of earlier phases was done.
const phasesBefore = "the phases before"

// lastWork returns the commit that recorded the last work before a phase, whether or not it
// succeeded.
func (m *model) lastWork(p int) (last uint64) {
	for _, phase := range m.h.Phases[:p] {
		for _, w := range phase.Works {
			last = max(last, m.works[w.Name].worked, m.works[w.Name].broke)
		}
	}
	return last
}

// phaseOfStep returns the number of the phase of a workstream or a gate.
func (m *model) phaseOfStep(what string) int {
	return slices.IndexFunc(m.h.Phases, func(p histPhase) bool { return m.isIn(p.number(), what) })
}

// ofPhase reports whether a gate is one of a phase, which is judged when all workstreams of the
// phase have ended.
func (m *model) ofPhase(what string) bool {
	_, owner := m.gate(what)
	return m.isGate(what) && m.work(owner) == nil
}

// stop notes that the run starts nothing any more.
func (m *model) stop() { m.run.halted, m.run.stopped = true, true }
