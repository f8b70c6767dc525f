package state

import (
	"fmt"
	"slices"
	"time"
)

// applyGate folds the events of gates.
func (s *State) applyGate(at time.Time, e Event) error {
	label := gateOf(e)
	g := s.Gate(label)
	if g == nil {
		return fmt.Errorf("%w: no gate %q", ErrFold, label)
	}
	switch e := e.(type) {
	case GateStarted:
		g.resetVerdict("")
		g.Status, g.Attempts = Running, e.Attempt
	case GatePassed:
		g.decide(at, Passed, e.Verdict)
		g.Value, g.DurationMS, g.Review = e.Value, e.DurationMS, e.Review
		s.LastGate = g.Label
		s.Feedback.withdraw(s, g.Label)
	case GateFailed:
		g.decide(at, Failed, e.Verdict)
		g.Value, g.DurationMS, g.Error = e.Value, e.DurationMS, &e.Error
		s.Feedback.object(g, Objection{At: at, Failure: &e.Error}, g.judged())
	case GateAsked:
		g.decide(at, Waiting, e.Verdict)
		g.Message, g.Approvers, g.ExpiresAt, g.Asks = e.Message, e.Approvers, e.ExpiresAt, e.Inputs
	case GateApproved:
		g.decide(at, Passed, e.Verdict)
		g.By, g.Comment, g.Inputs = &e.By, e.Comment, e.Inputs
		s.LastGate = g.Label
		s.Feedback.withdraw(s, g.Label)
		s.answered(g.Label, "approved by "+e.By.User, "")
	case GateRejected:
		g.decide(at, Rejected, e.Verdict)
		g.By, g.Comment, g.Inputs = &e.By, e.Reason, e.Inputs
		if err := (Rejection{s, g}).apply(at, e); err != nil {
			return err
		}
		s.answered(g.Label, "rejected by "+e.By.User, e.Reason)
	case GateSkipped:
		g.resetVerdict(e.Reason)
		g.Status = Skipped
	case GateVoided:
		g.resetVerdict(e.Reason)
	case GateReviewed:
		g.Review, g.Reviewed = false, g.Judged
	}
	if w := g.workstream; w != nil && w.Status == Completed && g.Status != Passed && g.Status != Skipped {
		w.Status = Succeeded // the work is still done; its gate is not passed
	}
	return nil
}

// answered removes a gate or workstream from what a paused session waits for.
func (s *State) answered(name, how string, why Text) {
	if s.Pause == nil {
		return
	}
	p := *s.Pause
	p.Gates = slices.DeleteFunc(slices.Clone(p.Gates), func(g string) bool { return g == name })
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(w string) bool { return w == name })
	if len(p.Gates)+len(p.Steps) == len(s.Pause.Gates)+len(s.Pause.Steps) {
		return
	}
	if p.Message = Text(name + " was " + how); why != "" {
		p.Message += ": " + why
	}
	s.Pause = &p
}

func (g *Gate) decide(at time.Time, status StepStatus, v Verdict) {
	g.resetVerdict("")
	g.Status, g.At, g.Definition, g.Judged, g.Seen = status, &at, v.Definition, v.Judged, v.Seen
}

// resetVerdict makes a gate pending and drops its last verdict.
func (g *Gate) resetVerdict(reason Text) {
	*g = Gate{Label: g.Label, Attempts: g.Attempts, Reviewed: g.Reviewed, Status: Pending, Reason: reason, workstream: g.workstream, phase: g.phase}
}

func gateOf(e Event) string {
	switch e := e.(type) {
	case GateStarted:
		return e.Gate
	case GatePassed:
		return e.Gate
	case GateFailed:
		return e.Gate
	case GateAsked:
		return e.Gate
	case GateApproved:
		return e.Gate
	case GateRejected:
		return e.Gate
	case GateSkipped:
		return e.Gate
	case GateVoided:
		return e.Gate
	case GateReviewed:
		return e.Gate
	}
	return ""
}
