package progress

import "time"

// Outcome says what became of a phase that the run has left.
type Outcome int

// The outcomes of a phase.
const (
	Passed  Outcome = iota
	Failed          // a workstream that may not fail has failed, or a gate
	Skipped         // none of it ran
)

// Outcome returns what became of a phase that the run has left.
func (p *Phase) Outcome() Outcome {
	switch {
	case p.passed:
		return Passed
	case p.Failed > 0 || p.broken:
		return Failed
	}
	return Skipped
}

// FailedNames returns the workstreams that have failed in this run, which the pipeline does not allow, in their order.
func (p *Phase) FailedNames() (names []string) {
	if p.Failed == 0 {
		return nil
	}
	for _, s := range p.steps {
		if s.status == failed {
			names = append(names, s.name)
		}
	}
	return names
}

// enter makes a phase the current one. The run has left the one before it, which has not passed.
func (p *Progress) enter(phase *Phase, at time.Time) {
	if p.current != nil && p.current != phase {
		p.current.Took = at.Sub(p.current.Began)
	}
	p.current = phase
	phase.Ahead, phase.passed, phase.broken, phase.Began, phase.Took = false, false, false, at, 0
	p.halted = false
	p.findApprovals()
}

// Behind returns the phases before the current one that the run has left, or that had ended before the run.
// Without a current phase, it returns those before the next one.
func (p *Progress) Behind() (phases []*Phase) {
	for _, phase := range p.phases {
		switch {
		case phase == p.current, p.current == nil && phase.Ahead:
			return phases
		case !phase.Ahead:
			phases = append(phases, phase)
		}
	}
	return phases
}

// Ahead returns the phases that come after the current one: after a failure, those that run nevertheless.
func (p *Progress) Ahead() (phases []*Phase) {
	for _, phase := range p.phases {
		comes := phase.Ahead && (p.current == nil || phase.Number > p.current.Number)
		if p.failed {
			comes = comes && phase.Late
		} else {
			comes = comes && !phase.afterFailure
		}
		if comes {
			phases = append(phases, phase)
		}
	}
	return phases
}

// Stops reports whether a failure keeps a phase from starting.
func (p *Progress) Stops() bool {
	if !p.failed {
		return false
	}
	for _, phase := range p.phases {
		if phase.Ahead && !phase.Late {
			return true
		}
	}
	return false
}
