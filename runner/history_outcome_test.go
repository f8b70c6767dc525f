//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
)

// What becomes of workstreams in a run, and whether those that depend on them run then.

const (
	onFailed = "failed"
	onAlways = "always"
)

// fate is a set: what may have become of a workstream so far in a run. It has more than one
// element where the journal does not tell.
type fate uint8

const (
	fateCompleted fate = 1 << iota
	fateSkipped
	fateFailed    // an attempt or a gate failed
	fatePermitted // it failed, and the pipeline allows that
	fateBlocked   // a failure kept the workstream from starting
	fateOpen      // it has not ended yet, or is left for the next run
)

const (
	fateGood = fateCompleted | fateSkipped | fatePermitted // nothing waits for the workstream any more
	fateWell = fateCompleted | fateSkipped
	fateBad  = fateFailed | fatePermitted
)

func (f fate) may(any fate) bool  { return f&any != 0 }
func (f fate) must(any fate) bool { return f&^any == 0 }

// upstream are the fates of the workstreams that a workstream depends on.
type upstream []fate

func (m *model) upstream(name string) upstream {
	var all upstream
	for _, up := range m.work(name).On {
		all = append(all, m.fate(up))
	}
	return all
}

func (u upstream) anyMay(f fate) bool {
	return slices.ContainsFunc(u, func(up fate) bool { return up.may(f) })
}
func (u upstream) anyMust(f fate) bool {
	return slices.ContainsFunc(u, func(up fate) bool { return up.must(f) })
}
func (u upstream) allMay(f fate) bool {
	return !slices.ContainsFunc(u, func(up fate) bool { return !up.may(f) })
}
func (u upstream) allMust(f fate) bool {
	return !slices.ContainsFunc(u, func(up fate) bool { return !up.must(f) })
}

// fate returns what may have become of a workstream.
func (m *model) fate(name string) fate {
	w, r := m.works[name], m.run
	switch {
	case w.status == state.Running, r.left[name]:
		return fateOpen
	case w.status == state.Failed && r.over[name]:
		if w.permitted {
			return fatePermitted
		}
		return fateFailed
	case m.gateFailed(name) != "":
		if r.act.KeepGoing && m.dueGates(m.work(name).Gates, name) != "" || m.gateWaits(name) || m.permits(name, m.gateFailed(name)) {
			return fateOpen
		}
		return fateFailed
	case r.tries[name] > 0:
		return m.ownFate(name)
	}
	u := m.upstream(name)
	switch m.work(name).RunOn {
	case onAlways:
		return m.fateOfAlways(name, u)
	case onFailed:
		return m.fateOfFailed(name, u)
	}
	return m.fateOfDefault(name, u)
}

// ownFate returns the fate of a workstream that the run has come to.
func (m *model) ownFate(name string) fate {
	switch {
	case m.stands(name):
		return fatePermitted
	case !m.isComplete(name):
		return fateOpen
	case m.works[name].status == state.Skipped:
		return fateSkipped
	}
	return fateCompleted
}

// fateOfDefault returns the fate of a workstream that has not started, and needs the success
// of what it depends on.
func (m *model) fateOfDefault(name string, u upstream) (f fate) {
	if u.allMay(fateGood) {
		f = m.ownFate(name)
		if m.run.failing && m.phaseOf(name) >= m.run.failedIn {
			if w := m.works[name]; f == fateOpen && !w.done() && w.status != state.Uncertain {
				f = 0
			}
			f |= fateBlocked
		}
	}
	if u.anyMay(fateFailed | fateBlocked) {
		f |= fateBlocked
	}
	if u.anyMay(fateOpen) {
		f |= fateOpen
	}
	return f
}

// fateOfAlways is like fateOfDefault, for run_on = "always".
func (m *model) fateOfAlways(name string, u upstream) (f fate) {
	if u.allMay(^fateOpen) {
		f = m.ownFate(name)
	}
	if u.anyMay(fateOpen) {
		f |= fateOpen
	}
	return f
}

// fateOfFailed is like fateOfDefault, for run_on = "failed".
func (m *model) fateOfFailed(name string, u upstream) (f fate) {
	if u.allMay(^fateOpen) {
		if u.anyMay(fateBad) || u.allMay(fateWell) {
			f = m.ownFate(name)
		}
		if u.anyMay(fateBlocked) && !u.anyMust(fateBad) {
			f |= fateBlocked
		}
	}
	if u.anyMay(fateOpen) {
		f |= fateOpen
	}
	return f
}

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
	return w.status == state.Failed && w.permitted && m.mayFail(name)
}

// stands reports whether a failure counts as a result, and nothing has changed since.
func (m *model) stands(name string) bool {
	return m.failedBefore(name) && !m.run.left[name] && !m.off(name) && len(m.reasons(name)) == 0
}

// finished reports whether nothing is left to do for a workstream.
func (m *model) finished(name string) bool { return m.isComplete(name) || m.stands(name) }

// gateWaits reports whether a gate of a workstream runs or waits for an answer, so that the
// workstream has not ended.
func (m *model) gateWaits(name string) bool {
	return slices.ContainsFunc(m.work(name).Gates, func(g histGate) bool {
		is := m.gates[g.label(name)]
		return is.status == state.Running || m.run.act.KeepGoing && is.status == state.Waiting
	})
}

// mayRun returns an error if what has become of the workstreams that a workstream depends on
// forbids that it runs.
func (m *model) mayRun(name string) error {
	u := m.upstream(name)
	switch m.work(name).RunOn {
	case onAlways:
		return m.mustBe(u.allMay(^fateOpen), "something that it depends on has not ended: %v", u)
	case onFailed:
		return errors.Join(m.mustBe(u.allMay(^fateOpen), "something that it depends on has not ended: %v", u),
			m.mustBe(u.anyMay(fateBad), "nothing that it depends on has failed: %v", u))
	}
	return m.mustBe(u.allMay(fateGood), "something that it depends on is not done: %v", u)
}

// mustRun reports whether what has become of the workstreams that a workstream depends on lets
// it run for certain.
func (m *model) mustRun(name string) bool {
	u := m.upstream(name)
	switch m.work(name).RunOn {
	case onAlways:
		return u.allMust(^fateOpen)
	case onFailed:
		return u.allMust(^fateOpen) && u.anyMust(fateBad)
	}
	return u.allMust(fateGood)
}

// off reports whether a workstream is skipped once the run comes to it: its when is false, or
// what has become of the workstreams that it depends on skips it.
func (m *model) off(name string) bool {
	w := m.work(name)
	switch {
	case m.v.off[name]:
		return true
	case w.RunOn == onAlways:
		return false
	case w.RunOn == onFailed:
		return m.upstream(name).allMust(fateWell)
	}
	return slices.ContainsFunc(w.On, m.off)
}

// maySkip returns an error if a workstream may not be skipped now.
func (m *model) maySkip(name string) error {
	u, r := m.upstream(name), m.run
	var off bool
	switch m.work(name).RunOn {
	case onAlways:
		off = m.v.off[name] && u.allMay(^fateOpen)
	case onFailed:
		off = u.allMay(fateWell) || m.v.off[name] && u.allMay(^fateOpen) && u.anyMay(fateBad)
	default:
		off = (m.v.off[name] || u.anyMay(fateSkipped)) && u.allMay(fateGood)
	}
	return errors.Join(m.mustBe(off && !r.left[name], "the workstream must not be skipped: %v", u),
		m.mustBe(!m.stops(name), "the run has been stopped"), m.mustBe(m.works[name].status != state.Skipped, "the workstream is skipped already"))
}

// skipDue reports whether the run should have skipped a workstream that it has come to.
func (m *model) skipDue(name string) bool {
	u := m.upstream(name)
	if !m.off(name) || m.run.left[name] {
		return false
	}
	return m.work(name).RunOn != onFailed || u.allMust(fateWell) || u.anyMust(fateBad)
}

// mustDecide reports whether the run comes to a workstream for certain, so that it runs or
// skips it, or leaves it because it was not chosen.
func (m *model) mustDecide(name string) bool {
	u := m.upstream(name)
	if m.work(name).RunOn == "" {
		return m.comesToPhaseOf(name) && u.allMust(fateGood)
	}
	return m.comesToPhaseOf(name) && u.allMust(^fateOpen)
}

// late reports whether a workstream may start after a failure.
func (m *model) late(name string) bool { return m.work(name).RunOn != "" }

// stops reports whether the run was stopped, so that it does not start a workstream.
func (m *model) stops(name string) bool {
	r := m.run
	return r.halted && (r.stopped || !r.failing || !m.late(name))
}

// phaseOfStep returns the number of the phase of a workstream or a gate.
func (m *model) phaseOfStep(what string) int {
	return slices.IndexFunc(m.h.Phases, func(p histPhase) bool { return m.isIn(p.number(), what) })
}

// stop notes that the run starts nothing any more.
func (m *model) stop() { m.run.halted, m.run.stopped = true, true }

func (u upstream) String() string {
	var all []string
	for _, f := range u {
		var names []string
		for i, name := range []string{"completed", "skipped", "failed", "permitted", "blocked", "open"} {
			if f.may(1 << i) {
				names = append(names, name)
			}
		}
		all = append(all, fmt.Sprint(names))
	}
	return fmt.Sprint(all)
}
