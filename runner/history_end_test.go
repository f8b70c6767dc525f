//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
)

// How a run must end, and which work must be done by then.

// end applies the event that ends a run, which must be the one that the model expects.
func (m *model) end(e state.Event, status state.Status) error {
	r := m.run
	err := m.mustBe(r.ended == "", "the run ended before, with %s", r.ended)
	reviewed := m.endReview()
	if m.reviewing(anyPhase, false) || endsFor(e, state.PauseBudget) && m.outOfBudget() {
		m.stop()
	}
	m.status, r.ended = status, e.Kind()
	due, loops := m.due(), m.endLoops(e)
	want := m.verdictOfRun(anew{})
	is := string(e.Kind())
	if p, ok := e.(state.SessionPaused); ok {
		is += " " + string(p.Reason)
		if p.Reason == state.PauseReview {
			m.reviews = p.Gates
		}
	}
	err = errors.Join(err, reviewed, loops, m.mustBe(is == want || r.halted && m.cutShort(is), "the run should end with %s", want))
	if !r.signal && len(due) > 0 {
		err = errors.Join(err, fmt.Errorf("not done: %s", strings.Join(due, "; ")))
	}
	return err
}

// cutShort reports whether a stopped run may end with the given event. The run need not
// have reached the uncertain steps, edits, questions and reviews of earlier runs.
func (m *model) cutShort(is string) bool {
	for n := range 32 {
		if is == m.verdictOfRun(anew{uncertain: n&1 != 0, edited: n&2 != 0, unpaid: n&4 != 0, asked: n&8 != 0, reviewed: n&16 != 0}) {
			return true
		}
	}
	return false
}

// anew selects the kinds of findings that count only if the present run made them.
type anew struct{ uncertain, edited, unpaid, asked, reviewed bool }

// verdictOfRun returns the event, and the reason of a pause, with which the run must end.
func (m *model) verdictOfRun(only anew) string {
	r := m.run
	switch {
	case r.signal:
		return string(state.KindSessionInterrupted)
	case len(r.failures) > 0:
		return string(state.KindSessionFailed)
	case m.stuck(only.uncertain):
		return string(state.KindSessionPaused) + " " + string(state.PauseUncertain)
	case !only.edited && m.meetsEdit():
		return string(state.KindSessionPaused) + " " + string(state.PauseRequested)
	case !only.unpaid && m.outOfBudget():
		return string(state.KindSessionPaused) + " " + string(state.PauseBudget)
	case m.waiting(anyPhase, only.asked):
		return string(state.KindSessionPaused) + " " + string(state.PauseApproval)
	case m.reviewing(anyPhase, only.reviewed):
		return string(state.KindSessionPaused) + " " + string(state.PauseReview)
	case m.complete() && !m.pausedBefore():
		return string(state.KindSessionCompleted)
	case r.excluded && !r.asked && m.chosenDone():
		return string(state.KindSessionPaused) + " " + string(state.PauseChosen)
	case r.excluded, r.asked:
		return string(state.KindSessionPaused) + " " + string(state.PauseRequested)
	}
	return "an end that the model does not know"
}

const anyPhase = -1

// waiting reports whether a gate of a phase that the run reached or judged waits for an
// answer.
func (m *model) waiting(p int, anew bool) bool {
	for label, is := range m.gates {
		g, owner := m.gate(label)
		if (p == anyPhase || m.isIn(p, label)) && m.waits(g, owner) && m.mayJudge(g, owner) == nil && (!anew || m.current(is)) {
			return true
		}
	}
	return false
}

// chosenDone reports whether all chosen workstreams, and those that they need, are done
// or skipped.
func (m *model) chosenDone() bool {
	for name := range m.run.allowed {
		if is := m.works[name].status; is != state.Completed && is != state.Skipped && !m.works[name].permitted {
			return false
		}
	}
	return true
}

// stuck reports whether the run has reached an uncertain workstream.
func (m *model) stuck(anew bool) bool {
	return slices.ContainsFunc(m.h.works(), func(w *histWork) bool {
		return m.works[w.Name].status == state.Uncertain && !m.off(w.Name) && m.reached(w.Name) && (!anew || m.run.asking[w.Name])
	})
}

// anyReview reports whether a gate waits for review.
func (m *model) anyReview() bool {
	for _, is := range m.gates {
		if is.review {
			return true
		}
	}
	return false
}

// reviewing reports whether a gate that the run reached or judged waits for a review. The gate may
// be of a phase up to the given one.
func (m *model) reviewing(last int, anew bool) bool {
	for label, is := range m.gates {
		g, owner := m.gate(label)
		if (last == anyPhase || m.phaseOfStep(label) <= last) && is.review && m.holds(g, owner) && (m.current(is) || !anew && m.comesTo(g, owner)) {
			return true
		}
	}
	return false
}

// comesTo reports whether a run reaches a gate of an owner without running the owner again.
func (m *model) comesTo(g histGate, owner string) bool {
	if m.gateBefore(g, owner) != "" {
		return false
	}
	if m.work(owner) == nil {
		return !slices.ContainsFunc(m.judges(owner), func(name string) bool { return !m.comesToPhaseOf(name) || !m.fate(name).may(fateGood) })
	}
	chosen := m.run.allowed == nil || m.run.allowed[owner] || m.isComplete(owner)
	return chosen && m.works[owner].done() && m.reached(owner) && len(m.reasons(owner)) == 0
}

// pausedBefore reports whether a pause kept the run from its last phase. Even if all work
// of the last phase is done, the run has not checked that. The review comes before the first phase.
func (m *model) pausedBefore() bool {
	return m.run.asked && (m.run.phase < len(m.h.Phases)-1 || m.run.unreviewed || !m.reviewPasses())
}

func (m *model) complete() bool {
	for p := range m.h.Phases {
		if !m.left(p) || !m.phaseIsComplete(p) {
			return false
		}
	}
	return true
}

// due lists the work that the run should have done by its end, if it was not stopped.
func (m *model) due() []string {
	var due []string
	r := m.run
	if !r.act.KeepGoing && m.stuck(false) || r.halted && len(m.usedUpAnywhere()) > 0 || m.outOfBudget() || m.meetsEdit() {
		m.stop()
	}
	for p := range m.h.Phases {
		if m.passedOver(p) {
			continue
		}
		passed := false
		if m.phaseOff(p) {
			due, passed = m.dueSkip(p, due)
		} else {
			due, passed = m.dueIn(p, due)
		}
		if !passed && (m.firstFailure(p+1) > p || m.stopsAll()) {
			return due
		}
	}
	return due
}

// dueSkip adds a phase that the run should have skipped to what is due, and reports whether the
// run comes to the next one.
func (m *model) dueSkip(p int, due []string) ([]string, bool) {
	r := m.run
	switch {
	case m.haltedIn(p):
		return due, false
	case slices.ContainsFunc(m.h.Phases[p].Works, func(w histWork) bool { return r.left[w.Name] }):
		r.excluded = true
		return due, false
	case m.phases[p] != state.Skipped || !m.phaseIsComplete(p):
		return append(due, phaseName(p)+" ought to be skipped"), false
	}
	return due, true
}

// dueIn adds what is due in a phase, and reports whether the phase has passed.
func (m *model) dueIn(p int, due []string) ([]string, bool) {
	r, phase, all := m.run, m.h.Phases[p], true
	for _, w := range phase.Works {
		if m.finished(w.Name) {
			all = all && !m.fate(w.Name).may(fateBlocked)
			continue
		}
		all = false
		if what := m.dueOf(w); what != "" {
			due = append(due, what)
		}
	}
	switch {
	case !all || r.stopped || r.halted && !r.failing || r.fastIn[p]:
		return due, false
	case !m.satisfied(p):
		r.excluded = r.excluded || slices.ContainsFunc(phase.Works, func(w histWork) bool { return r.allowed != nil && !r.allowed[w.Name] })
		return due, false
	}
	if what := m.dueGates(m.phaseGates(p), phaseName(p)); what != "" {
		return append(due, what), false
	}
	if m.phaseIsComplete(p) && !m.left(p) && !m.findsEdit(p) {
		return append(due, phaseName(p)+" is not recorded as complete"), false
	}
	return due, m.phaseIsComplete(p)
}

// asksVerify reports whether the verify command of a workstream was run.
func (m *model) asksVerify(name string) bool {
	_, ran := m.run.log[m.key(name+"..verify", m.works[name].attempts)]
	return ran
}

func (m *model) dueOf(w histWork) string {
	r, is := m.run, m.works[w.Name]
	switch {
	case is.status == state.Uncertain && m.reached(w.Name) && !m.stops(w.Name) && !r.over[w.Name] && m.verifies(w.Name) && !m.asksVerify(w.Name):
		return w.Name + " ought to be verified"
	case r.over[w.Name] || is.status == state.Uncertain:
		return ""
	case is.status == state.Running:
		return w.Name + " is still recorded as running"
	case r.tries[w.Name] == 0 && (m.stops(w.Name) || !m.mustDecide(w.Name)):
		return ""
	case m.skipDue(w.Name):
		return w.Name + " ought to be skipped"
	case r.allowed != nil && !r.allowed[w.Name] && r.tries[w.Name] == 0:
		r.excluded = true
		return ""
	case r.tries[w.Name] == 0 && !m.mustRun(w.Name):
		return ""
	case m.isUnpaid(w.Name):
		return ""
	case !is.done():
		return fmt.Sprintf("%s is %s", w.Name, is.status)
	case r.tries[w.Name] == 0 && len(m.reasons(w.Name)) > 0:
		return fmt.Sprintf("%s ought to run again: %v", w.Name, m.reasons(w.Name))
	}
	if missing, edited := m.touched(w.Name); len(missing)+len(edited) > 0 && r.verified[w.Name] != state.ResolvedDone {
		return fmt.Sprintf("the artifacts %s are not as %s made them", append(missing, edited...), w.Name)
	}
	if what := m.dueGates(w.Gates, w.Name); what != "" || m.gateWaits(w.Name) || !m.permits(w.Name, m.gateFailed(w.Name)) {
		return what
	}
	return w.Name + " ought to have failed with its gate"
}

// dueGates returns the first gate of an owner that should have been judged, or "".
func (m *model) dueGates(gates []histGate, owner string) string {
	for _, g := range gates {
		label := g.label(owner)
		if m.holds(g, owner) {
			continue
		}
		is := m.gates[label]
		if m.waits(g, owner) {
			return ""
		}
		if !m.run.over[label] {
			return fmt.Sprintf("%s is %s, and ought to be judged", label, is.status)
		}
		if !m.run.act.KeepGoing {
			return ""
		}
	}
	return ""
}
