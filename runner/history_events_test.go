//go:build unix

package runner_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// Which events may come, and how they change the model.

// apply applies an event of the journal to the model. The event must be allowed now, and
// its content must agree with the model.
func (m *model) apply(e state.Event) error {
	var err error
	switch e := e.(type) {
	case state.SessionStarted:
		if e.From == nil {
			m.begin()
		}
		for p := range m.loops {
			m.loops[p] = modelLoop{iteration: 1}
		}
		m.readLoops()
		for _, w := range m.works {
			w.had = nil // rollbacks belong to the earlier session
		}
		m.session, m.status, m.spent = true, state.StatusInitialized, account{}
	case state.SessionResumed:
		m.status = state.StatusInProgress
		m.listed = slices.Repeat(m.listed[len(m.listed)-1:], len(m.listed))
		m.reviewed()
		m.raiseDue()
		m.readLoops()
	case state.BudgetRaised:
		err = m.raised(e)
	case state.PauseAsked:
		m.run.asked, m.run.paused, m.run.unreviewed = true, true, !m.reviewPasses()
		m.stop()
	case state.SessionPaused:
		err = m.end(e, state.StatusPaused)
	case state.SessionFailed:
		if m.run == nil {
			err = m.repeatedByAnswer(e)
		} else {
			err = m.end(e, state.StatusFailed)
		}
	case state.SessionInterrupted:
		err = m.end(e, state.StatusPaused)
	case state.SessionCompleted:
		err = m.end(e, state.StatusComplete)
	case state.PhaseStarted:
		err = m.enter(e.Phase)
	case state.PhaseCompleted:
		err = m.leave(e.Phase)
	case state.ReviewStarted, state.ReviewJudged, state.ReviewFailed, state.ReviewInterrupted, state.ReviewOverridden:
		err = m.applyReview(e)
	case state.PhaseRepeated:
		if m.run == nil {
			err = m.repeatedByAnswer(e)
		} else {
			err = m.repeated(e)
		}
	case state.PhaseSkipped:
		err = m.skipPhase(e.Phase)
	case state.WorkspaceCaptured:
		m.list()
		if !e.Aside { // edits between two runs belong to no run
			m.captured = maps.Clone(m.tree)
		}
	case state.ArtifactsRestored:
		err = m.restored(e)
	case state.CheckpointCreated, state.RollbackStarted, state.RollbackCompleted:
	case state.GateStarted, state.GatePassed, state.GateFailed, state.GateAsked, state.GateApproved,
		state.GateRejected, state.GateSkipped, state.GateVoided, state.GateReviewed:
		err = m.applyGate(e)
	default:
		err = m.applyWork(e)
	}
	if err != nil {
		return fmt.Errorf("%s %+v: %w", e.Kind(), e, err)
	}
	return nil
}

// list notes the files of a capture for the phases that the run has not left.
func (m *model) list() {
	files, was := m.scope(m.tree), m.listed
	m.listed = nil
	for p := range m.h.Phases {
		if m.run != nil && p < m.run.phase {
			m.listed = append(m.listed, was[p])
		} else {
			m.listed = append(m.listed, files)
		}
	}
}

func (m *model) applyWork(e state.Event) error {
	switch e := e.(type) {
	case state.WorkstreamInvalidated:
		return m.takenBack(e.Workstream, string(e.Reason))
	case state.WorkstreamStarted:
		return m.started(e)
	case state.WorkstreamAttemptFailed:
		return m.attemptFailed(e)
	case state.WorkstreamFailed:
		return m.failed(e)
	case state.WorkstreamSucceeded:
		return errors.Join(m.record(e.Workstream, e.Work), m.mustBe(len(m.work(e.Workstream).Gates) > 0, "the workstream has no gates"))
	case state.WorkstreamCompleted:
		return m.completed(e)
	case state.WorkstreamInterrupted:
		return m.interrupted(e)
	case state.WorkstreamUncertain:
		return m.uncertain(e)
	case state.WorkstreamSkipped:
		err := m.maySkip(e.Workstream)
		m.skip(e.Workstream)
		m.run.skipped[e.Workstream] = true
		return err
	case state.WorkstreamEdited:
		return m.editKept(e)
	case state.WorkstreamResolved:
		return m.resolved(e)
	case state.ReportsReceived:
		return m.reported(e)
	}
	return errors.New("the model does not know this event")
}

// takenBack applies the invalidation of done work, for a reason that the plan knew or
// that the run found when it reached the work.
func (m *model) takenBack(name, why string) (err error) {
	w := m.works[name]
	if !m.run.takes[name] {
		err = errors.Join(m.mustBe(w.done(), "the workstream is %s", w.status), m.mayStart(name), m.explained(name, why))
	}
	delete(m.run.takes, name)
	m.reset(name)
	return err
}

// explained compares the recorded reason with the changes: it must name each changed
// component, and the first change of each.
func (m *model) explained(name, why string) error {
	if m.forced(name) {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range m.changes(name) {
		component, of, _ := strings.Cut(c, " ")
		if seen[component] {
			continue
		}
		seen[component] = true
		named := component + " changed"
		if of != "" {
			named += ": " + of
		}
		if !strings.Contains(why, named) {
			return fmt.Errorf("the reason does not say %q", named)
		}
	}
	return m.mustBe(why != "", "the reason is empty")
}

func (m *model) restored(e state.ArtifactsRestored) error {
	w := m.works[e.Workstream]
	missing, edited := m.touched(e.Workstream)
	if m.run.act.Conflict == plan.ConflictRestore {
		missing = append(missing, edited...)
	}
	var paths []string
	for _, p := range e.Paths {
		paths = append(paths, string(p))
		m.tree[string(p)] = w.made[string(p)]
	}
	return m.mustBe(slices.Equal(missing, paths), "the artifacts to restore are %v", missing)
}

func (m *model) phaseIsComplete(p int) bool {
	for _, w := range m.h.Phases[p].Works {
		if !m.finished(w.Name) {
			return false
		}
	}
	return m.phasePasses(p)
}

// mayBeComplete is like phaseIsComplete, in a run that may have dropped work of earlier phases
// after a failure.
func (m *model) mayBeComplete(p int) bool {
	for _, w := range m.h.Phases[p].Works {
		if !m.fate(w.Name).may(fateGood) {
			return false
		}
	}
	return m.phasePasses(p)
}

// phasePasses reports whether a phase is complete once its workstreams are.
func (m *model) phasePasses(p int) bool {
	return m.satisfied(p) && !slices.ContainsFunc(m.phaseGates(p), func(g histGate) bool { return !m.holds(g, phaseName(p)) })
}

func (m *model) enter(name string) error {
	p := m.phaseOfStep(name)
	err := errors.Join(m.mustBe(m.comesToPhase(p), "what comes before is not complete"), m.mustBe(!m.phaseOff(p), "the phase must be skipped"))
	m.phases[p], m.run.phase = state.Running, p
	return err
}

// left reports whether a phase has ended according to the record.
func (m *model) left(p int) bool {
	return m.phases[p] == state.Completed || m.phases[p] == state.Skipped && m.allOff(phaseName(p))
}

// skipPhase applies the record of a phase that is skipped with all its workstreams.
func (m *model) skipPhase(name string) error {
	p := m.phaseOfStep(name)
	err := m.mustBe(m.comesToPhase(p) && (m.mayAllBeOff(name) || m.phaseOff(p)), "a workstream of the phase is not skipped")
	m.phases[p] = state.Skipped
	for _, w := range m.h.Phases[p].Works {
		if m.works[w.Name].status != state.Skipped {
			m.skip(w.Name)
		}
	}
	for _, g := range m.phaseGates(p) {
		m.gates[g.label(name)].reset()
		m.gates[g.label(name)].status = state.Skipped
	}
	return err
}

func (m *model) leave(name string) error {
	for p := range m.h.Phases {
		if phaseName(p) == name {
			was := m.phases[p]
			m.phases[p] = state.Completed
			return errors.Join(m.mustBe(m.mayBeComplete(p) && !m.allOff(name), "a workstream or gate of the phase is not done"), m.mustBe(was != state.Completed, "the phase was complete before"))
		}
	}
	return errors.New("there is no such phase")
}
