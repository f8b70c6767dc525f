package checkpoint

import (
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// forRetention is a checkpoint as package retention sees it.
func forRetention(ref *state.CheckpointRef) retention.Checkpoint {
	return retention.Checkpoint{
		ID: ref.ID, Group: groupOf(ref.Trigger, ref.Phase), At: ref.CreatedAt,
		Pinned: ref.Pinned, Unusable: ref.Unusable(),
	}
}

// groupOf names what retention counts together with a checkpoint.
func groupOf(t state.Trigger, phase string) retention.Group {
	g := retention.Group{Trigger: string(t)}
	if t == state.TriggerBatchComplete || t == state.TriggerWorkstreamComplete {
		g.Phase = phase
	}
	return g
}
