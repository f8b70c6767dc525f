package state

import (
	"fmt"
	"slices"
	"time"
)

// applyCheckpoint folds the events of checkpoints.
func (s *State) applyCheckpoint(seq uint64, at time.Time, e Event) error {
	switch e := e.(type) {
	case CheckpointCreated:
		s.addCheckpoint(seq, at, e)
	case CheckpointsRemoved:
		s.dropCheckpoints(e.IDs)
		if e.Empties {
			s.EmptiedSeq, s.Capture, s.RunCapture = seq, nil, nil
		}
	case CheckpointSkipped:
		s.dropCheckpoints(e.IDs)
	case CheckpointPinned:
		return s.changeCheckpoint(e.ID, func(ref *CheckpointRef) { ref.Pinned = true })
	case CheckpointUnpinned:
		return s.changeCheckpoint(e.ID, func(ref *CheckpointRef) { ref.Pinned = false })
	case CheckpointDamaged:
		return s.changeCheckpoint(e.ID, func(ref *CheckpointRef) {
			ref.Damage, ref.Valid = &Damage{At: at, Reason: e.Reason}, false
		})
	case CheckpointRebuilt:
		return s.changeCheckpoint(e.ID, func(ref *CheckpointRef) {
			ref.Damage, ref.Valid = nil, ref.InvalidatedBy == ""
		})
	}
	return nil
}

// changeCheckpoint changes the entry of a checkpoint.
func (s *State) changeCheckpoint(id string, change func(*CheckpointRef)) error {
	ref := s.Checkpoint(id)
	if ref == nil {
		return fmt.Errorf("%w: no checkpoint %q", ErrFold, id)
	}
	change(ref)
	return nil
}

func (s *State) addCheckpoint(seq uint64, at time.Time, e CheckpointCreated) {
	if e.AsCaptured {
		s.Captures.AsOf, s.Captures.Behind = seq, 0
	}
	switch t := s.WorkTree; {
	case e.WorkTree != nil:
		s.WorkTree = e.WorkTree
	case e.WorkTreeSame && t != nil:
		s.WorkTree = &WorkTree{Modified: t.Modified, Omitted: t.Omitted}
	}
	ref := &CheckpointRef{
		ID: e.ID, Seq: seq, Trigger: e.Trigger, Phase: e.Phase, Step: e.Step, StepName: e.StepName, StepSeq: s.LastStep.Seq, Later: s.LastStep.Later, CanResume: s.CanResume(), Uncaptured: e.Uncaptured, Reason: e.Reason, Conflict: e.Conflict, Spent: s.Spent.Reported(),
		CreatedAt: at, Created: e.Created, Modified: e.Modified, Git: e.Git, Capture: s.Capture, Behind: s.Captures.Behind, Valid: true,
	}
	s.Checkpoints = append(s.Checkpoints, ref)
	s.indexed().checkpoints[e.ID] = ref
	if e.Trigger == TriggerPreRollback {
		ref.Before, ref.Discarded = s.Current, s.discarded()
	}
	s.Current = e.ID
	s.dropCheckpoints(e.Removes)
}

func (s *State) dropCheckpoints(ids []string) {
	for _, id := range ids {
		ref := s.Checkpoint(id)
		if ref == nil {
			continue
		}
		delete(s.index.checkpoints, id)
		// What retention drops is nearly always among the newest.
		for i := len(s.Checkpoints) - 1; i >= 0; i-- {
			if s.Checkpoints[i] == ref {
				s.Checkpoints = slices.Delete(s.Checkpoints, i, i+1)
				break
			}
		}
	}
}
