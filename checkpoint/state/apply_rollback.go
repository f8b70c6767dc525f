package state

import (
	"fmt"
	"slices"
	"time"
)

// RollbackRecord is a return to an earlier checkpoint.
type RollbackRecord struct {
	ID       string        `json:"id"`
	At       time.Time     `json:"timestamp"`
	From     string        `json:"from_checkpoint"`
	FromStep int           `json:"from_step"`
	To       string        `json:"to_checkpoint"`
	ToStep   int           `json:"to_step"`
	Safety   string        `json:"safety_checkpoint"` // rolling back to it undoes this rollback
	Scope    RollbackScope `json:"scope"`
	Reason   Text          `json:"reason,omitempty"`
	By       Actor         `json:"by"`
	StateSeq uint64        `json:"state_seq,omitempty"` // the commit whose state it took, where that is earlier than the checkpoint
	Skipped  []Text        `json:"skipped,omitempty"`   // paths that could not be restored
	Error    Text          `json:"error,omitempty"`     // of one that failed: nothing was taken back
}

// applyRollback folds the events of rollbacks.
func (s *State) applyRollback(at time.Time, e Event) error {
	if e, ok := e.(RollbackStarted); ok {
		if s.Rollback != nil {
			return fmt.Errorf("%w: rollback %s is not finished", ErrFold, s.Rollback.ID)
		}
		s.Rollback = &e
		return nil
	}
	var id string
	switch e := e.(type) {
	case RollbackCompleted:
		id = e.ID
	case RollbackFailed:
		id = e.ID
	}
	if s.Rollback == nil || s.Rollback.ID != id {
		return fmt.Errorf("%w: rollback %q was not begun", ErrFold, id)
	}
	record := s.NewRollbackRecord(at)
	s.Current = record.From // a rollback of files alone does not move the session
	switch e := e.(type) {
	case RollbackFailed:
		record.Error = e.Error
	case RollbackCompleted:
		record.Skipped = e.Skipped
		if e.State == nil {
			break
		}
		if err := e.State.CheckStructure(); err != nil {
			return fmt.Errorf("%w: %w", ErrFold, err)
		}
		s.GoTo(record, *s.Rollback, e.State)
	}
	s.Rollback = nil
	s.Rollbacks = append(slices.Clip(s.Rollbacks), record)
	return nil
}

// NewRollbackRecord returns the entry of the rollback history for the rollback that is
// under way.
func (s *State) NewRollbackRecord(at time.Time) RollbackRecord {
	b := s.Rollback
	record := RollbackRecord{
		ID: b.ID, At: at, From: s.Current, FromStep: s.CurrentStep(), To: b.To, ToStep: b.ToStep,
		Safety: b.Safety, Scope: b.Scope, Reason: b.Reason, By: b.By, StateSeq: b.StateSeq,
	}
	if safety := s.Checkpoint(b.Safety); safety != nil && safety.Before != "" {
		record.From = safety.Before
	}
	return record
}

// GoTo replaces the state by that of a checkpoint. It keeps the list of checkpoints, the
// history, the numbers of attempts (logs are named by them), the acts of workstreams that
// must happen only once, and the captures of knowledge. Called pipelines have gone on since
// the checkpoint, so that the next call of each begins a new session.
func (s *State) GoTo(record RollbackRecord, b RollbackStarted, target *State) {
	next := target.Clone()
	next.FormatVersion = s.FormatVersion
	next.Seq, next.UpdatedAt = s.Seq, s.UpdatedAt
	next.Checkpoints, next.Rollbacks, next.Rollback = s.Checkpoints, s.Rollbacks, nil
	next.Protections = nil // what waits was rolled back before
	next.Resumes, next.Sensitive, next.Hooks = s.Resumes, s.Sensitive, s.Hooks
	next.Host, next.Acts, next.Trace = s.Host, s.Acts, s.Trace
	next.Current = b.To
	next.index = nil
	next.Ledgers.KeepCaptures(s.Ledgers)
	next.carryOn(s)
	next.keepSpent(s)
	next.Review = keptReview(next.Review, s.Review)
	if next.AdoptedSeq = s.AdoptedSeq; target.Seq < s.AdoptedSeq {
		next.voidVerdicts()
	}
	next.forgetCalls()
	next.stopRunning()
	next.invalidate(record, b.ToSeq)
	*s = *next
}

// carryOn copies from the present state the parts that a rollback keeps.
func (s *State) carryOn(now *State) {
	for _, p := range s.Phases {
		if had := now.Phase(p.Name); had != nil {
			p.Attempt = max(p.Attempt, had.Attempt)
		}
		carryGates(p.Gates, now)
	}
	for had := range now.Records() {
		w := s.Workstream(had.Name)
		switch {
		case w == nil && had.Attempts == 0:
			continue
		case w == nil:
			w = s.Remember(had)
		}
		carryGates(w.Gates, now)
		again := had.MaybeAgain(w)
		if had.Attempts >= w.Attempts {
			w.Reported = had.Reported // what its last attempt has reported is not read again
		}
		w.Attempts = max(w.Attempts, had.Attempts)
		if again {
			w.Status, w.StartedAt = Uncertain, had.StartedAt // the next rollback asks for it again
			w.Error = had.WentBackBefore("a rollback")
			if had.WorkSeq == 0 {
				s.noteAct(w)
			}
		}
	}
}

// Remember adds a workstream that the state does not have, since the pipeline did not have
// it at that time.
func (s *State) Remember(of *Workstream) *Workstream {
	w := &Workstream{Name: of.Name, Title: of.Title, Batch: of.Batch, Once: of.Once, Status: Pending}
	for _, g := range of.Gates {
		w.Gates = append(w.Gates, &Gate{Label: g.Label, Status: Pending})
	}
	s.Gone = append(s.Gone, w)
	s.indexed().addWorkstream(nil, w)
	return w
}

// MaybeAgain reports whether a workstream that must happen only once may have happened
// after an earlier record, then. If then has all attempts on record, it also has their
// ends; that is so when a rollback is undone.
func (w *Workstream) MaybeAgain(then *Workstream) bool {
	return w.Attempts > then.Attempts && (w.Once || then.Once) && w.StartedAt != nil
}

// WentBackBefore returns the error of a workstream that becomes uncertain because the
// state went back to a time before it ran. what names the cause, such as "a rollback".
func (w *Workstream) WentBackBefore(what string) *Failure {
	if w.Worked() || w.Status == Uncertain && w.Error != nil && w.Error.Outcome == OutcomeHappened {
		return &Failure{Workstream: w.Name, Outcome: OutcomeHappened, Message: Text("it has happened, and " + what + " went back before it")}
	}
	return &Failure{Workstream: w.Name, Outcome: "unknown", Message: Text(what + " went back before it: it may have happened")}
}

func carryGates(gates []*Gate, now *State) {
	for _, g := range gates {
		if had := now.Gate(g.Label); had != nil {
			g.Attempts = max(g.Attempts, had.Attempts)
		}
	}
}

// stopRunning ends the workstreams that were running at the checkpoint: nothing runs
// during a rollback.
func (s *State) stopRunning() {
	s.stopSteps("it was being judged at the checkpoint that a rollback went back to",
		"it was running at the checkpoint that a rollback went back to")
	switch s.Status {
	case StatusInProgress, StatusInitialized:
		s.Status = StatusPaused
		s.Pause = &Pause{Reason: PauseRollback, Message: Text("rolled back to " + s.Current)}
	case StatusPaused, StatusFailed, StatusComplete:
	}
}

// stopSteps ends the gates and workstreams that are recorded as running.
func (s *State) stopSteps(judged, running Text) {
	for _, p := range s.Phases {
		stopGates(p.Gates, judged)
		for _, w := range p.Workstreams {
			stopGates(w.Gates, judged)
			w.endRunning(running)
		}
	}
	s.RunningAt, s.Requested = nil, nil
}

// endRunning ends a workstream that is recorded as running.
func (w *Workstream) endRunning(why Text) {
	w.dropHeld()
	switch {
	case w.Status != Running:
	case w.Once:
		w.Status, w.Error = Uncertain, &Failure{Workstream: w.Name, Outcome: "unknown", Message: why}
	default:
		w.Status = Interrupted
	}
}

func stopGates(gates []*Gate, why Text) {
	for _, g := range gates {
		if g.Status == Running {
			g.resetVerdict(why)
		}
	}
}

// invalidate marks the checkpoints after the target of a rollback as invalid. Checkpoints
// that undo a rollback stay valid. If the target undoes a rollback, earlier checkpoints
// are valid or invalid again as they were when the target was made.
func (s *State) invalidate(record RollbackRecord, toSeq uint64) {
	var undone *CheckpointRef
	if to := s.Checkpoint(record.To); to != nil && to.Trigger == TriggerPreRollback {
		undone = to
	}
	for _, ref := range s.Checkpoints {
		switch {
		case ref.Trigger == TriggerPreRollback:
			continue
		case ref.Seq <= toSeq && undone != nil:
			ref.InvalidatedBy = undone.Discarded[ref.ID]
		case ref.Seq <= toSeq || ref.InvalidatedBy != "":
			continue
		default:
			ref.InvalidatedBy = record.ID
		}
		ref.Valid = ref.InvalidatedBy == "" && ref.Damage == nil
	}
}

// discarded returns, by checkpoint, the rollback that made it invalid.
func (s *State) discarded() map[string]string {
	var by map[string]string
	for _, ref := range s.Checkpoints {
		if ref.InvalidatedBy == "" {
			continue
		}
		if by == nil {
			by = map[string]string{}
		}
		by[ref.ID] = ref.InvalidatedBy
	}
	return by
}
