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
	case m.passedOver(m.phaseOf(name)):
		return fateBlocked
	case r.skipped[name]:
		return fateSkipped
	case w.status == state.Running:
		return fateOpen
	case r.left[name]:
		return m.fateOfLeft(name)
	case m.phaseOff(m.phaseOf(name)):
		return m.skipFate(name)
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
		return m.runFate(name)
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

// fateOfLeft returns the fate of a workstream that was not chosen. A failure may have kept it from
// starting as well.
func (m *model) fateOfLeft(name string) fate {
	dropped := m.run.fastIn[m.phaseOf(name)] || m.upstream(name).anyMay(fateFailed|fateBlocked)
	if m.late(name) || !dropped {
		return fateOpen
	}
	return fateOpen | fateBlocked
}

// statuses returns what the status of a workstream may be for expressions. One that has not ended
// has the status on record.
func (m *model) statuses(name string) map[string]bool {
	all, f := map[string]bool{}, m.fate(name)
	for status, of := range map[string]fate{"completed": fateCompleted, "skipped": fateSkipped, "failed": fateBad, "blocked": fateBlocked} {
		if f.may(of) {
			all[status] = true
		}
	}
	if f.may(fateOpen) {
		all[m.recordedStatus(name)] = true
	}
	return all
}

// recordedStatus returns the status of a workstream on record, for expressions, or "" if it has
// none.
func (m *model) recordedStatus(name string) string {
	switch w := m.works[name]; {
	case w.done():
		return "completed"
	case w.status == state.Skipped:
		return "skipped"
	case m.failedBefore(name):
		return "failed"
	}
	return ""
}

// maySeeOther reports whether the status that a workstream has seen may be another one now.
func (m *model) maySeeOther(name string) bool {
	of := m.work(name).Sees
	return of != "" && len(m.statuses(of)) > 1
}

// runFate returns the fate of a workstream that the run has come to, and that runs or has run.
func (m *model) runFate(name string) fate {
	switch {
	case m.failedBefore(name) && len(m.reasons(name)) == 0:
		return fatePermitted | m.openFate(name)
	case m.isDone(name):
		return fateCompleted | m.openFate(name)
	case m.run.verified[name] == state.ResolvedDone && m.isDoneButForEdits(name): // an edit stops only what reads it
		return fateCompleted
	}
	return fateOpen
}

// openFate returns fateOpen if a workstream that is done may have to run again.
func (m *model) openFate(name string) fate {
	if m.run.tries[name] == 0 && m.maySeeOther(name) {
		return fateOpen
	}
	return 0
}

// skipFate returns the fate of a workstream that the run skips when it comes to it.
func (m *model) skipFate(name string) fate {
	if m.works[name].status == state.Skipped {
		return fateSkipped
	}
	return fateOpen
}

// fateOfDefault returns the fate of a workstream that has not started, and needs the success
// of what it depends on.
func (m *model) fateOfDefault(name string, u upstream) (f fate) {
	if u.allMay(fateGood) {
		if m.v.off[name] || u.anyMay(fateSkipped) {
			f |= m.skipFate(name)
		}
		if !m.v.off[name] && !u.anyMust(fateSkipped) {
			f |= m.runFate(name)
		}
		if m.run.fastIn[m.phaseOf(name)] {
			if w := m.works[name]; f == fateOpen && !w.done() && w.status != state.Uncertain {
				f = 0
			}
			f |= fateBlocked
		}
	}
	if u.anyMay(fateFailed | fateBlocked) {
		f |= fateBlocked
		if u.anyMay(fateSkipped) && u.allMay(^fateOpen) { // it may be skipped as well
			f |= m.skipFate(name)
		}
	}
	if u.anyMay(fateOpen) {
		f |= fateOpen
	}
	return f
}

// fateOfAlways is like fateOfDefault, for run_on = "always".
func (m *model) fateOfAlways(name string, u upstream) (f fate) {
	switch {
	case !u.allMay(^fateOpen):
	case m.v.off[name]:
		f = m.skipFate(name)
	default:
		f = m.runFate(name)
	}
	if u.anyMay(fateOpen) {
		f |= fateOpen
	}
	return f
}

// fateOfFailed is like fateOfDefault, for run_on = "failed".
func (m *model) fateOfFailed(name string, u upstream) (f fate) {
	if u.allMay(^fateOpen) {
		if u.allMay(fateWell) || m.v.off[name] && u.anyMay(fateBad) {
			f |= m.skipFate(name)
		}
		if !m.v.off[name] && u.anyMay(fateBad) {
			f |= m.runFate(name)
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
	case m.v.off[name], m.phaseOff(m.phaseOf(name)):
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
	return errors.Join(m.mustBe(m.mayBeOff(name) && !m.run.left[name], "the workstream must not be skipped: %v", m.upstream(name)),
		m.mustBe(!m.stops(name), "the run has been stopped"), m.mustBe(m.works[name].status != state.Skipped, "the workstream is skipped already"))
}

// mayBeOff reports whether a workstream may have to be skipped.
func (m *model) mayBeOff(name string) bool {
	u := m.upstream(name)
	switch m.work(name).RunOn {
	case onAlways:
		return m.v.off[name] && u.allMay(^fateOpen)
	case onFailed:
		return u.allMay(fateWell) || m.v.off[name] && u.allMay(^fateOpen) && u.anyMay(fateBad)
	default:
		return m.v.off[name] && u.allMay(fateGood) || u.anyMay(fateSkipped) && u.allMay(^fateOpen)
	}
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
