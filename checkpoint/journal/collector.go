package journal

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// CheckpointCollector folds commits, and calls Made for each checkpoint that it reaches.
type CheckpointCollector struct {
	Fold  *Fold
	IDs   map[string]bool                 // of the checkpoints to collect
	Found map[string]bool                 // of those that Visit has reached
	Made  func(disk.CheckpointFile) error // the state in the file is valid during the call
}

// Visit folds the next commit.
func (k *CheckpointCollector) Visit(c state.Commit) error {
	if err := k.Fold.Apply(c); err != nil {
		return err
	}
	for _, e := range c.Events {
		created, ok := e.(state.CheckpointCreated)
		if !ok || !k.IDs[created.ID] || k.Found[created.ID] {
			continue
		}
		ref := k.Fold.State.Checkpoint(created.ID)
		if ref == nil {
			continue
		}
		if err := k.Made(disk.NewCheckpointFile(k.Fold.State, ref)); err != nil {
			return err
		}
		k.Found[created.ID] = true
	}
	return nil
}
