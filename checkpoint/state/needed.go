package state

import (
	"cmp"
	"fmt"
	"slices"
)

// FinishedWith returns the checkpoints that are needed to finish an interrupted rollback:
// its target, the one that undoes it, and those whose state it takes.
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

// Undoers returns the checkpoints that can still undo a rollback, and why each is needed.
// They may hold the only copy of what the rollback discarded, so retention keeps them
// until the rollback is undone.
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

// Irreplaceable returns the checkpoints that may hold the only copy of edited files that a
// run or a rollback overwrote, and what each holds.
func (s *State) Irreplaceable() map[string]string {
	all := s.Undoers()
	settled := map[string]bool{}
	for _, r := range s.Rollbacks {
		settled[r.Safety] = true // Undoers has it if it is still needed
		if r.Error == "" && len(r.Skipped) == 0 && r.Scope != RollbackState {
			settled[r.To] = true
		}
	}
	for _, ref := range s.Checkpoints {
		holdsEdits := ref.Trigger == TriggerPreRollback || ref.Trigger == TriggerConflictStart && ref.Conflict == ""
		if holdsEdits && !settled[ref.ID] {
			all[ref.ID] = "it holds " + cmp.Or(string(ref.Reason), "what was overwritten")
		}
	}
	return all
}

// RollbackWith returns the rollback that a checkpoint undoes, or "".
func (s *State) RollbackWith(safety string) string {
	for _, r := range s.Rollbacks {
		if r.Safety == safety && r.Error == "" {
			return r.ID
		}
	}
	return ""
}

// MadeAt returns the checkpoints that were made in a commit.
func (s *State) MadeAt(seq uint64) []*CheckpointRef {
	var made []*CheckpointRef
	for _, ref := range s.Checkpoints {
		if ref.Seq == seq {
			made = append(made, ref)
		}
	}
	return made
}

// KeptEdits returns the checkpoints of edits that were made while a rollback was
// interrupted. Until it is finished, no other checkpoints of their trigger are made.
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
