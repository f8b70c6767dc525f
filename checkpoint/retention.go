package checkpoint

import (
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// ForRetention returns a checkpoint in the form that package retention uses.
func ForRetention(ref *state.CheckpointRef) retention.Checkpoint {
	return retention.Checkpoint{
		ID: ref.ID, Group: groupOf(ref.Trigger, ref.Phase), At: ref.CreatedAt,
		Pinned: ref.Pinned, Unusable: ref.Unusable(),
	}
}

// groupOf returns the group of checkpoints that retention counts together.
func groupOf(t state.Trigger, phase string) retention.Group {
	g := retention.Group{Trigger: string(t)}
	if t == state.TriggerBatchComplete || t == state.TriggerWorkstreamComplete {
		g.Phase = phase
	}
	return g
}
