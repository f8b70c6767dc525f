//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
)

// When a gate may be judged, and with which verdict.

// gate returns the gate with a label, and its owner.
func (m *model) gate(label string) (g histGate, owner string) {
	name, owner, _ := strings.Cut(strings.TrimSuffix(label, ")"), " (")
	for _, g := range m.gatesOf(owner) {
		if g.Name == name {
			return g, owner
		}
	}
	return histGate{}, owner
}

// gatesOf returns the gates of a workstream or a phase.
func (m *model) gatesOf(owner string) []histGate {
	if w := m.work(owner); w != nil {
		return w.Gates
	}
	for i := range m.h.Phases {
		if phaseName(i) == owner {
			return m.phaseGates(i)
		}
	}
	return nil
}

// mayJudge returns an error if the gate may not be judged now.
func (m *model) mayJudge(g histGate, owner string) error {
	if m.phaseOf(owner) >= 0 && m.run.tries[owner] == 0 && m.run.allowed != nil && !m.run.allowed[owner] {
		return errors.New("its workstream was not chosen")
	}
	return m.mustHaveReached(g, owner)
}

// mustHaveReached returns an error if the run has not reached the gate.
func (m *model) mustHaveReached(g histGate, owner string) error {
	if m.phaseOf(owner) >= 0 {
		if err := m.mustBe(m.works[owner].done(), "the work is %s", m.works[owner].status); err != nil {
			return err
		}
		if m.run.tries[owner] == 0 {
			if err := m.mustBe(m.reached(owner) && len(m.reasons(owner)) == 0, "the run has not reached the workstream"); err != nil {
				return err
			}
		}
		if missing, edited := m.touched(owner); len(missing)+len(edited) > 0 {
			return errors.New("the judged artifacts are not as recorded")
		}
	} else {
		p := m.phaseOfStep(owner)
		if m.haltedIn(p) {
			return errors.New("the run has been stopped")
		}
		for _, w := range m.h.Phases[p].Works {
			if !m.comesToPhaseOf(w.Name) || !m.fate(w.Name).may(fateGood) {
				return fmt.Errorf("%s is not done, or was done from other files", w.Name)
			}
		}
		if !m.satisfied(p) {
			return errors.New("the condition of the phase does not hold")
		}
	}
	if first := m.gateBefore(g, owner); first != "" {
		return fmt.Errorf("%s comes first", first)
	}
	return m.mustBe(!m.holds(g, owner), "the verdict of the gate still holds")
}

// gateBefore returns a gate that comes before another one of its owner, and has not passed, so
// that the run does not come to the other one. It returns "" if there is none.
func (m *model) gateBefore(g histGate, owner string) string {
	for _, earlier := range m.gatesOf(owner) {
		if earlier.Name == g.Name || m.run.act.KeepGoing {
			break
		}
		if !m.holds(earlier, owner) {
			return earlier.Name
		}
	}
	return ""
}

func (m *model) applyGate(e state.Event) error {
	switch e := e.(type) {
	case state.GateStarted:
		g, owner := m.gate(e.Gate)
		is := m.gates[e.Gate]
		err := errors.Join(m.mayJudge(g, owner), m.mustBe(g.Kind == kindCommand, "the gate is a %s", g.Kind),
			m.mustBe(e.Attempt == is.attempts+1, "the attempt before was %d", is.attempts))
		is.reset()
		is.status, is.attempts, is.run = state.Running, e.Attempt, m.run.number
		m.lower(owner)
		return err
	case state.GatePassed:
		return errors.Join(m.judged(e.Gate, true), m.mustReview(e))
	case state.GateReviewed:
		is := m.gates[e.Gate]
		err := m.mustBe(is.review && m.run.act.Answers[e.Gate] == "approve", "the user did not review the gate")
		is.review, is.reviewed = false, is.judged
		return err
	case state.GateFailed:
		err := m.judged(e.Gate, false)
		switch _, owner := m.gate(e.Gate); {
		case m.works[owner] == nil:
			m.fail(e.Gate, true)
		case !m.mayFail(owner):
			m.fail(e.Gate, m.failsFast(owner))
		}
		m.run.over[e.Gate] = true
		return err
	case state.GateAsked:
		return m.asked(e.Gate)
	case state.GateApproved:
		return m.answered(e.Gate, "approve", state.Passed)
	case state.GateRejected:
		err := m.answered(e.Gate, "reject", state.Rejected)
		m.reject(e.Gate)
		return err
	case state.GateSkipped:
		_, owner := m.gate(e.Gate)
		m.gates[e.Gate].reset()
		m.gates[e.Gate].status = state.Skipped
		return m.mustBe(m.mayAllBeOff(owner), "a judged workstream is not skipped")
	case state.GateVoided:
		return m.voided(e.Gate)
	}
	return errors.New("the model does not know this event")
}

// lower revokes the completion of a workstream whose gate has not passed.
func (m *model) lower(owner string) {
	if w := m.works[owner]; w != nil && w.status == state.Completed {
		w.status = state.Succeeded
	}
}

// judged applies a verdict, which must be the one that the model expects.
func (m *model) judged(label string, passed bool) (err error) {
	g, owner := m.gate(label)
	is := m.gates[label]
	switch g.Kind {
	case kindCommand:
		d, ran := m.run.log[m.key(owner+"."+g.Name, is.attempts)]
		err = errors.Join(m.mustBe(is.status == state.Running, "the gate is %s", is.status), m.mustBe(ran, "its command never ran"),
			m.mustBe(!d.cancelled, "its command was interrupted"), m.mustBe(d.ok == passed, "its command gave the other verdict"))
	case kindCondition, kindMetric:
		err = errors.Join(m.mayJudge(g, owner), m.mustBe(m.verdict(g, owner) == passed, "the model has the other verdict, from %+v", m.works[g.Of]))
	default:
		err = errors.New("the gate is an approval")
	}
	status := state.Passed
	if !passed {
		status = state.Failed
	}
	m.decide(g, owner, status)
	return err
}

func (m *model) decide(g histGate, owner string, status state.StepStatus) {
	is := m.gates[g.label(owner)]
	is.reset()
	is.status = status
	is.definition, is.judged = m.binding(g, owner)
	if m.run != nil {
		is.run = m.run.number
	}
	if status != state.Passed {
		m.lower(owner)
	}
}

func (m *model) asked(label string) error {
	g, owner := m.gate(label)
	is := m.gates[label]
	definition, judged := m.binding(g, owner)
	err := errors.Join(m.mayJudge(g, owner), m.mustBe(g.Kind == kindApproval, "the gate is a %s", g.Kind),
		m.mustBe(is.status != state.Waiting || is.definition != definition || is.judged != judged, "the same question was asked before"))
	m.decide(g, owner, state.Waiting)
	return err
}

// answered applies the user's answer, given at the terminal or by another command.
func (m *model) answered(label, answer string, status state.StepStatus) error {
	g, owner := m.gate(label)
	is := m.gates[label]
	if m.run == nil {
		definition, judged := is.definition, is.judged
		m.decide(g, owner, status)
		is.definition, is.judged = definition, judged // an answer is bound to the question
		if m.answering = ""; status == state.Rejected {
			m.answering = label
		}
		return nil
	}
	definition, judged := m.binding(g, owner)
	err := errors.Join(m.mustBe(is.status == state.Waiting || is.review && status == state.Rejected, "the gate is %s", is.status), m.mustBe(m.run.act.Answers[label] == answer, "the user did not give this answer"),
		m.mustBe(is.definition == definition && is.judged == judged, "the question was about other files or another definition"))
	m.decide(g, owner, status)
	return err
}

// reject makes the workstreams that a gate judged run again, whether or not the gate
// changes.
func (m *model) reject(label string) {
	in := 0
	if m.run != nil {
		m.fail(label, true)
		in = m.run.number
	}
	_, owner := m.gate(label)
	for _, name := range m.judges(owner) {
		if w := m.works[name]; w.done() {
			w.rejected, w.rejectedIn = true, in
		}
	}
}

// mustReview notes whether a passed gate needs a review. It does if the gate or the build
// asks for one and the user has not reviewed the same files.
func (m *model) mustReview(e state.GatePassed) error {
	g, _ := m.gate(e.Gate)
	is := m.gates[e.Gate]
	is.review = (g.Pause || m.run.act.PauseAll) && is.reviewed != is.judged
	return m.mustBe(e.Review == is.review, "want the review flag %t", is.review)
}

// reviewed notes that the user resumed the session after a review.
func (m *model) reviewed() {
	for _, label := range m.reviews {
		if is := m.gates[label]; is != nil {
			is.review, is.reviewed = false, is.judged
		}
	}
	m.reviews = nil
}

// voided applies the invalidation of a verdict, for a reason that the plan knew or that
// the run found when it reached the gate.
func (m *model) voided(label string) (err error) {
	g, owner := m.gate(label)
	is, r := m.gates[label], m.run
	switch {
	case is.status == state.Passed && !r.takes[label]:
		err = errors.Join(m.mustHaveReached(g, owner), m.mustBe(!m.holds(g, owner), "the verdict of the gate still holds"))
	default:
		err = m.mustBe(r.takes[label] || is.status == state.Running && (r.signal || is.run != r.number), "the verdict of the gate still holds")
	}
	delete(r.takes, label)
	is.reset()
	m.lower(owner)
	return err
}
