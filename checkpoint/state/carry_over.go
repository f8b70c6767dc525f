package state

import (
	"fmt"
	"time"
)

// A complete session is never changed. A build that continues after it starts a new
// session, which begins with the records of the complete one: workstreams, verdicts,
// metrics and captures. Its commits are numbered on from the complete session, so that
// all records stay in the order in which the work was done.

// Predecessor is the complete session that a session began from.
type Predecessor struct {
	Session string    `json:"session"`
	Seq     uint64    `json:"seq"` // of its last commit
	At      time.Time `json:"at"`  // of that commit
}

// ShortSession returns the part of a session's id that people are shown.
func ShortSession(id string) string { return id[:min(len(id), 8)] }

// CarryOver returns the state that a new session begins from when it continues this
// complete one. Each record names the session that made it.
func (s *State) CarryOver() *State {
	c := s.Clone()
	for w := range c.Records() {
		if w.Session == "" && !w.untouched() {
			w.Session = s.Session
		}
		markGates(w.Gates, s.Session)
	}
	for _, p := range c.Phases {
		markGates(p.Gates, s.Session)
	}
	return c
}

func markGates(gates []*Gate, session string) {
	for _, g := range gates {
		if g.Session == "" && g.Status != Pending {
			g.Session = session
		}
	}
}

// untouched reports whether a workstream has no record.
func (w *Workstream) untouched() bool { return w.Attempts == 0 && w.Status == Pending }

// WithoutHistory returns the state without what belongs to its session alone: checkpoints,
// rollbacks, and how the session ended.
func (s *State) WithoutHistory() *State {
	c := *s
	c.index = nil
	c.Checkpoints, c.Current, c.Rollbacks, c.Rollback = []*CheckpointRef{}, "", nil, nil
	c.Error, c.Pause, c.Requested, c.Interrupted, c.RunningAt, c.Hooks = nil, nil, nil, "", nil, nil
	c.Protections, c.Services = nil, nil
	c.BeganFrom, c.Baseline, c.Acts, c.WorkTree = nil, nil, nil, nil
	return &c
}

// FirstSeq is the number of the first commit of a session.
func (e SessionStarted) FirstSeq() uint64 {
	if e.From == nil {
		return 1
	}
	return e.From.Seq + 1
}

// FirstSeq is the number that a commit must have to be the first line of a journal.
func (c *Commit) FirstSeq() uint64 {
	if len(c.Events) > 0 {
		if e, ok := c.Events[0].(SessionStarted); ok {
			return e.FirstSeq()
		}
	}
	return 1
}

// continueFrom begins a session with the records of a complete one.
func (s *State) continueFrom(seq uint64, e SessionStarted) error {
	if seq != e.FirstSeq() {
		return fmt.Errorf("%w: commit %d does not follow commit %d of session %s", ErrFold, seq, e.From.Seq, e.From.Session)
	}
	if err := e.From.CheckStructure(); err != nil {
		return fmt.Errorf("%w: %w", ErrFold, err)
	}
	had := e.From.Clone()
	s.BeganFrom = &Predecessor{Session: had.Session, Seq: had.Seq, At: had.UpdatedAt}
	s.Phases, s.Gone = had.Phases, had.Gone
	s.Metrics, s.Notes, s.Ledgers, s.LastGate = had.Metrics, had.Notes, had.Ledgers, had.LastGate
	s.Review = had.Review
	s.Variables = had.Variables.merged(e.Variables)
	s.Capture, s.RunCapture, s.EmptiedSeq = had.Capture, had.RunCapture, had.EmptiedSeq
	s.Captures = Captures{AsOf: had.Captures.AsOf, Behind: had.Captures.Behind}
	for _, p := range s.Phases {
		if p.Iteration != nil {
			p.Iteration = &Iteration{Index: 1, Max: p.Iteration.Max}
		}
	}
	s.index = nil
	s.forgetSpent()
	for w := range s.Records() {
		w.Step = 0 // nothing has completed in this session
	}
	return nil
}
