package state

import (
	"cmp"
	"fmt"
	"slices"
)

// FinishedWith are the checkpoints without which a rollback that was cut short can't be
// finished: its target, the one that undoes it, and those that have the state it takes.
func (s *State) FinishedWith() []string {
	if s.Rollback == nil {
		return nil
	}
	ids := []string{s.Rollback.To, s.Rollback.Safety}
	for _, ref := range s.MadeAt(s.Rollback.StateSeq) {
		ids = append(ids, ref.ID)
	}
	return ids
}

// Undoers are the checkpoints with which a rollback can still be undone, and
// which one. They hold what the rollback discarded, of which there may be no
// other copy, so retention leaves them alone until it is undone.
func (s *State) Undoers() map[string]string {
	needed := map[string]string{}
	scopes := map[string]RollbackScope{}
	for _, r := range s.Rollbacks {
		if r.Error != "" {
			continue
		}
		if undone, ok := scopes[r.To]; ok && len(r.Skipped) == 0 && (r.Scope == RollbackAll || r.Scope == undone) {
			delete(needed, r.To)
		}
		needed[r.Safety], scopes[r.Safety] = fmt.Sprintf("rollback %s can be undone with it", r.ID), r.Scope
	}
	return needed
}

// Irreplaceable are the checkpoints that may hold the only copy of what was
// overwritten, and what that was: files that somebody had worked on, which did
// not come back since.
func (s *State) Irreplaceable() map[string]string {
	all := s.Undoers()
	settled := map[string]bool{}
	for _, r := range s.Rollbacks {
		settled[r.Safety] = true // it is among the others if it is needed
		if r.Error == "" && len(r.Skipped) == 0 && r.Scope != RollbackState {
			settled[r.To] = true
		}
	}
	for _, ref := range s.Checkpoints {
		if (ref.Trigger == TriggerPreRollback || ref.Trigger == TriggerConflictStart) && !settled[ref.ID] {
			all[ref.ID] = "it holds " + cmp.Or(string(ref.Reason), "what was overwritten")
		}
	}
	return all
}

// RollbackWith returns the rollback that going back to a checkpoint undoes, or "".
func (s *State) RollbackWith(safety string) string {
	for _, r := range s.Rollbacks {
		if r.Safety == safety && r.Error == "" {
			return r.ID
		}
	}
	return ""
}

// MadeAt are the checkpoints that were made in a commit.
func (s *State) MadeAt(seq uint64) []*CheckpointRef {
	var made []*CheckpointRef
	for _, ref := range s.Checkpoints {
		if ref.Seq == seq {
			made = append(made, ref)
		}
	}
	return made
}

// KeptEdits are the checkpoints of what was edited while a rollback was not
// finished: until it is, no other ones of their trigger are made.
func (s *State) KeptEdits(b RollbackStarted) []*CheckpointRef {
	var kept []*CheckpointRef
	begun := slices.IndexFunc(s.Checkpoints, func(ref *CheckpointRef) bool { return ref.ID == b.Safety })
	for _, ref := range s.Checkpoints[begun+1:] {
		if begun >= 0 && ref.Trigger == TriggerPreRollback {
			kept = append(kept, ref)
		}
	}
	return kept
}
