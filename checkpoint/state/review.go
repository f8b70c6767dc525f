package state

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	P0 Severity = "p0"
	P1 Severity = "p1"
	P2 Severity = "p2"
	P3 Severity = "p3"
)

// Severities lists the severities, the worst first.
func Severities() []Severity { return []Severity{P0, P1, P2, P3} }

// Finding is what an adversarial review found. With Command or Script, that says whether it
// is settled.
type Finding struct {
	Severity Severity `json:"severity"`
	Title    Text     `json:"title"`
	File     Text     `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Detail   Text     `json:"detail,omitempty"`
	Command  []string `json:"command,omitempty"`
	Script   string   `json:"script,omitempty"`
}

// String describes a finding in one line.
func (f Finding) String() string {
	place := ""
	switch {
	case f.File != "" && f.Line > 0:
		place = fmt.Sprintf(" (%s:%d)", f.File, f.Line)
	case f.File != "":
		place = fmt.Sprintf(" (%s)", f.File)
	}
	return fmt.Sprintf("%s %s%s", f.Severity, f.Title, place)
}

// Review is the adversarial review of a session.
type Review struct {
	Status  StepStatus    `json:"status"`            // pending, running, passed, failed or interrupted
	Attempt int           `json:"attempt"`           // the last one that began, from 1
	Max     int           `json:"max,omitempty"`     // how many attempts there may be
	Runs    int           `json:"runs,omitempty"`    // how often one began in the session; its log has the number
	Verdict ReviewVerdict `json:"verdict,omitempty"` // of the last attempt that reached one
	P0      int           `json:"p0_count"`
	P1      int           `json:"p1_count"`
	// Judged is the attempt that reached the verdict.
	JudgedAttempt int        `json:"judged_attempt,omitempty"`
	Path          Text       `json:"findings_path,omitempty"`
	Findings      []Finding  `json:"findings,omitempty"` // those that the verdict follows from
	Gates         []string   `json:"gates,omitempty"`    // labels, by finding, of a verdict ship_with_gates
	Definition    string     `json:"definition,omitempty"`
	Judged        string     `json:"judged,omitempty"` // digest of what was reviewed
	At            *time.Time `json:"at,omitempty"`
	Error         *Failure   `json:"error,omitempty"` // why the last attempt reached no verdict
	Reason        Text       `json:"override_reason,omitempty"`
	By            *Actor     `json:"overridden_by,omitempty"`
}

// Blocks reports whether the verdict forbids to go on.
func (r *Review) Blocks() bool { return r != nil && r.Verdict == VerdictDoNotShip }

// UsedUp reports whether the review blocks and may not be attempted again.
func (r *Review) UsedUp() bool { return r.Blocks() && r.JudgedAttempt >= max(r.Max, 1) }

// importedReview returns the review that a document has which was written by hand.
func importedReview(a *AdversarialReview, at time.Time) *Review {
	if a == nil {
		return nil
	}
	r := &Review{
		Status: Passed, Attempt: a.Attempt, JudgedAttempt: a.Attempt, Max: a.Attempt, Verdict: a.Verdict, P0: a.P0Count, P1: a.P1Count,
		Path: Text(a.FindingsPath), Reason: Text(a.OverrideReason), At: &at,
	}
	if r.Blocks() {
		r.Status = Failed
	}
	return r
}

// Describe returns the verdict with its counts.
func (r *Review) Describe() string {
	if r.Verdict == "" {
		return r.describeAttempt()
	}
	text := fmt.Sprintf("%s, attempt %d, %d p0, %d p1", r.Verdict, r.JudgedAttempt, r.P0, r.P1)
	if r.Verdict == VerdictOverridden {
		by := ""
		if r.By != nil {
			by = " by " + r.By.User
		}
		text += fmt.Sprintf(", overridden%s: %s", by, r.Reason)
	}
	if r.Status == Running || r.Status == Interrupted || r.Error != nil {
		text += "; " + r.describeAttempt()
	}
	return text
}

// describeAttempt describes an attempt that has reached no verdict.
func (r *Review) describeAttempt() string {
	if r.Error != nil {
		return fmt.Sprintf("attempt %d reached no verdict: %s", r.Attempt, r.Error.Message)
	}
	return fmt.Sprintf("attempt %d %s", r.Attempt, r.Status)
}

// The kinds of the events of a review.
const (
	KindReviewStarted     Kind = "review.started"
	KindReviewJudged      Kind = "review.judged"
	KindReviewFailed      Kind = "review.failed"
	KindReviewInterrupted Kind = "review.interrupted"
	KindReviewOverridden  Kind = "review.overridden"
)

// ReviewStarted begins an attempt at the review before the first phase.
type ReviewStarted struct {
	Attempt int `json:"attempt"`
	Max     int `json:"max"`
	Run     int `json:"run"` // how often an attempt began in the session, this time included
}

// ReviewJudged is the verdict of an attempt.
type ReviewJudged struct {
	Attempt    int           `json:"attempt"`
	Verdict    ReviewVerdict `json:"verdict"`
	P0         int           `json:"p0_count"`
	P1         int           `json:"p1_count"`
	Path       Text          `json:"findings_path,omitempty"` // relative to the workspace
	Findings   []Finding     `json:"findings,omitempty"`      // those that the verdict follows from
	Gates      []string      `json:"gates,omitempty"`         // labels of the gates that they become
	Definition string        `json:"definition"`
	Judged     string        `json:"judged"`
	DurationMS int64         `json:"duration_ms"`
}

// ReviewFailed ends an attempt that reached no verdict.
type ReviewFailed struct {
	Attempt int     `json:"attempt"`
	Error   Failure `json:"error"`
}

// ReviewInterrupted ends an attempt that was stopped with the run. The next run makes it
// again.
type ReviewInterrupted struct {
	Attempt int `json:"attempt"`
}

// ReviewOverridden lets the session go on in spite of the verdict.
type ReviewOverridden struct {
	By     Actor `json:"by"`
	Reason Text  `json:"reason"`
}

// Kind implements Event.
func (ReviewStarted) Kind() Kind { return KindReviewStarted }

// Kind implements Event.
func (ReviewJudged) Kind() Kind { return KindReviewJudged }

// Kind implements Event.
func (ReviewFailed) Kind() Kind { return KindReviewFailed }

// Kind implements Event.
func (ReviewInterrupted) Kind() Kind { return KindReviewInterrupted }

// Kind implements Event.
func (ReviewOverridden) Kind() Kind { return KindReviewOverridden }

// applyReview folds the events of the review.
func (s *State) applyReview(at time.Time, e Event) error {
	r := &Review{}
	if s.Review != nil {
		*r = *s.Review
	}
	switch e := e.(type) {
	case ReviewStarted:
		r.Status, r.Attempt, r.Max, r.Runs, r.Error = Running, e.Attempt, e.Max, e.Run, nil
	case ReviewJudged:
		s.replaceFindingGates(r.Gates, e.Gates)
		*r = Review{
			Status: Passed, Attempt: e.Attempt, Max: r.Max, Runs: r.Runs, Verdict: e.Verdict, P0: e.P0, P1: e.P1, JudgedAttempt: e.Attempt, Path: e.Path,
			Findings: e.Findings, Gates: e.Gates, Definition: e.Definition, Judged: e.Judged, At: &at,
		}
		if r.Blocks() {
			r.Status = Failed
		}
	case ReviewFailed:
		r.Status, r.Error = Failed, &e.Error
	case ReviewInterrupted:
		r.Status = Interrupted
	case ReviewOverridden:
		if !r.Blocks() {
			return fmt.Errorf("%w: the review does not block", ErrFold)
		}
		r.Status, r.Verdict, r.By, r.Reason, r.Error, r.At = Passed, VerdictOverridden, &e.By, e.Reason, nil, &at
	}
	s.Review = r
	return nil
}

// keptReview returns the review after a rollback to a state that had the review then. A
// verdict that forbids to go on stays, unless the state had one with which the session went
// on, and so does the attempt that is due: going back gives no further attempts.
func keptReview(then, now *Review) *Review {
	goesOn := then != nil && then.Verdict != "" && !then.Blocks()
	switch {
	case now == nil || goesOn && now.Runs <= then.Runs:
		return then
	case goesOn:
		kept := *then
		kept.Runs = now.Runs
		return &kept
	case now.Verdict == "" || now.Blocks():
		return now
	}
	// The session went on with a verdict that the state did not have.
	return &Review{Status: Pending, Attempt: 1, Max: now.Max, Runs: now.Runs}
}

// voided returns the review of a session that is adopted: only a verdict that forbids to go
// on still holds.
func (r *Review) voided() *Review {
	if r == nil || r.Verdict == "" || r.Blocks() {
		return r
	}
	kept := *r
	kept.Definition, kept.Judged = "", ""
	return &kept
}

// replaceFindingGates adds the gates of the findings of a review, in place of those of an
// earlier one. Their labels name the phase.
func (s *State) replaceFindingGates(had, labels []string) {
	if len(s.Phases) == 0 || len(had)+len(labels) == 0 {
		return
	}
	for _, p := range s.Phases {
		gates := slices.DeleteFunc(slices.Clone(p.Gates), func(g *Gate) bool { return slices.Contains(had, g.Label) })
		for _, label := range labels {
			if !strings.HasSuffix(label, " ("+p.Name+")") {
				continue
			}
			gates = append(gates, &Gate{Label: label, Status: Pending})
			if p.Status == Completed {
				p.Status = Pending
			}
		}
		p.Gates = gates
	}
	s.index = nil
	s.indexed()
}

// FindingGate returns the name of the gate of a finding, the n-th of a review.
func FindingGate(n int) string { return fmt.Sprintf("finding-%d", n) }

// FindingLabel returns the label of the gate of a finding in a phase.
func FindingLabel(n int, phase string) string {
	return strings.Join([]string{FindingGate(n), " (", phase, ")"}, "")
}
