package state

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
)

// Protection is the safety checkpoint of a workstream that declares what it changes. The
// state has it from before the first attempt until the changes are committed or kept.
type Protection struct {
	Workstream string   `json:"workstream"`
	Attempt    int      `json:"attempt"`    // the last one
	Checkpoint string   `json:"checkpoint"` // the ID of the safety checkpoint
	Seq        uint64   `json:"seq"`        // of the commit that recorded the start of that attempt
	Savepoints []string `json:"savepoints,omitempty"`
	Keys       []string `json:"keys,omitempty"`
	RolledBack bool     `json:"rolled_back,omitempty"` // nothing that the workstream changed is left
	Keep       bool     `json:"keep,omitempty"`        // see ProtectionMade
	Delete     bool     `json:"delete,omitempty"`      // likewise
}

// Protection returns the protection of a workstream; nil if it has none.
func (s *State) Protection(workstream string) *Protection {
	for i, p := range s.Protections {
		if p.Workstream == workstream {
			return &s.Protections[i]
		}
	}
	return nil
}

// RollbacksDue returns the protections of workstreams that have changed something and did
// not pass. While nothing runs, their changes must be rolled back before anything else.
func (s *State) RollbacksDue() []Protection {
	var due []Protection
	for _, p := range s.Protections {
		if s.rollbackDue(p) {
			due = append(due, p)
		}
	}
	return due
}

// KeptProtections returns the protections of workstreams that have failed and keep their
// changes, such as after a rejection between two runs.
func (s *State) KeptProtections() []Protection {
	var kept []Protection
	for _, p := range s.Protections {
		if p.Keep && !p.RolledBack && s.Workstream(p.Workstream).notPassed() {
			kept = append(kept, p)
		}
	}
	return kept
}

// notPassed reports whether the workstream has failed, or a gate of it.
func (w *Workstream) notPassed() bool {
	return w != nil && (w.Status == Failed || w.FailedGate() != nil)
}

func (s *State) rollbackDue(p Protection) bool {
	w := s.Workstream(p.Workstream)
	switch {
	case p.RolledBack:
		return false
	case w.notPassed():
		return !p.Keep
	}
	return !w.Done() // work that is done, and none of whose gates has failed, may still pass
}

// FailedGate returns the first gate of the workstream that failed or was rejected; nil if
// none did.
func (w *Workstream) FailedGate() *Gate {
	for _, g := range w.Gates {
		if g.Status == Failed || g.Status == Rejected {
			return g
		}
	}
	return nil
}

// applyProtection folds the events of protections.
func (s *State) applyProtection(seq uint64, at time.Time, e Event) error {
	switch e := e.(type) {
	case ProtectionMade:
		s.setProtection(e.Workstream, &Protection{
			Workstream: e.Workstream, Attempt: e.Attempt, Checkpoint: e.Checkpoint, Seq: seq,
			Savepoints: e.Savepoints, Keys: e.Keys, Keep: e.Keep, Delete: e.Delete,
		})
	case ProtectionRolledBack:
		return s.rollBackProtected(seq, at, e)
	case ProtectionCommitted:
		s.setProtection(e.Workstream, nil)
	case ProtectionKept:
		s.setProtection(e.Workstream, nil)
	}
	return nil
}

// setProtection replaces the protection of a workstream. Copies of the state share the
// list, so it is made anew.
func (s *State) setProtection(workstream string, p *Protection) {
	s.Protections = slices.DeleteFunc(slices.Clone(s.Protections), func(had Protection) bool { return had.Workstream == workstream })
	if p != nil {
		s.Protections = append(s.Protections, *p)
	}
	if len(s.Protections) == 0 {
		s.Protections = nil
	}
}

// rollBackProtected folds the rollback of what a workstream changed.
func (s *State) rollBackProtected(seq uint64, at time.Time, e ProtectionRolledBack) error {
	p := s.Protection(e.Workstream)
	if p == nil || p.Checkpoint != e.Checkpoint {
		return fmt.Errorf("%w: %q is not protected by %q", ErrFold, e.Workstream, e.Checkpoint)
	}
	rolledBack := *p
	rolledBack.RolledBack = true
	s.setProtection(e.Workstream, &rolledBack)
	for key, value := range e.Keys {
		s.Ledgers.SetBack(key, value)
	}
	switch w := s.Workstream(e.Workstream); {
	case w.Done():
		s.takeBackWork(seq, at, w, e.Reason)
	case w != nil && w.FilesSeq > p.Seq: // it was invalidated
		w.forgetWork()
	}
	s.passWorkTree()
	return nil
}

// takeBackWork takes back the work of a workstream of which nothing is left. If a gate has
// failed, the workstream has failed, and its gates keep their verdicts until it runs again.
// Otherwise it is pending for a reason.
func (s *State) takeBackWork(seq uint64, at time.Time, w *Workstream, reason Text) {
	w.forgetWork()
	g := w.FailedGate()
	if g == nil {
		s.resetWorkstream(w, reason, "")
		return
	}
	s.removeMetrics(w)
	w.Status, w.EndedAt, w.EndedSeq, w.Error = Failed, &at, seq, g.failure(w)
	for _, other := range w.Gates {
		if other.Status == Waiting {
			other.resetVerdict("")
		}
	}
}

// forgetWork removes what a workstream recorded of its work.
func (w *Workstream) forgetWork() {
	w.WorkSeq, w.FilesSeq, w.Outputs, w.Artifacts, w.Edited = 0, 0, nil, nil, nil
	w.Summary, w.Location, w.Cached, w.Adopted = "", "", nil, ""
}

// failure returns why a gate of a workstream did not pass.
func (g *Gate) failure(w *Workstream) *Failure {
	if g.Error != nil {
		f := *g.Error
		return &f
	}
	f := &Failure{Workstream: w.Name, Gate: g.Label, Outcome: string(g.Status), Message: Text(g.Label + " was rejected")}
	if g.Comment != "" {
		f.Message += ": " + g.Comment
	}
	return f
}

// KeyValues returns the present values of keys; nil for a key that is not set.
func (s *State) KeyValues(keys []string) map[string]*ledger.Value {
	values := make(map[string]*ledger.Value, len(keys))
	for _, key := range keys {
		values[key] = nil
		if v, set := s.Ledgers.Values[key]; set {
			values[key] = &v
		}
	}
	return values
}
