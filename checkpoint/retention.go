package checkpoint

import "prdrunner/checkpoint/retention"

// forRetention is a checkpoint as package retention sees it.
func (ref *CheckpointRef) forRetention() retention.Checkpoint {
	return retention.Checkpoint{
		ID: ref.ID, Group: groupOf(ref.Trigger, ref.Phase), At: ref.CreatedAt,
		Pinned: ref.Pinned, Unusable: ref.unusable(),
	}
}

// groupOf names what retention counts together with a checkpoint.
func groupOf(t Trigger, phase string) retention.Group {
	g := retention.Group{Trigger: string(t)}
	if t == TriggerBatchComplete || t == TriggerWorkstreamComplete {
		g.Phase = phase
	}
	return g
}

// unusable says why a checkpoint cannot be gone back to, "" if it can.
func (ref *CheckpointRef) unusable() string {
	switch {
	case ref.Damage != nil:
		return "damaged"
	case ref.Valid:
		return ""
	case ref.InvalidatedBy != "":
		return "invalid since rollback " + ref.InvalidatedBy
	}
	return "invalid"
}

// newestUsable returns the last checkpoint that can be gone back to, or nil.
func (s *State) newestUsable() *CheckpointRef {
	for i := len(s.Checkpoints) - 1; i >= 0; i-- {
		if ref := s.Checkpoints[i]; ref.unusable() == "" {
			return ref
		}
	}
	return nil
}
