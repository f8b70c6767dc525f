package validate

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// MarkDamaged records, durably, that a checkpoint was found damaged, and why. A checkpoint
// that is already marked keeps its mark: the time of the mark is when the damage was first
// found.
func MarkDamaged(ctx context.Context, x *checkpoint.Session, id, reason string) error {
	if x.State() == nil {
		return fmt.Errorf("mark checkpoint %s: %w", id, checkpoint.ErrNoSession)
	}
	ref := x.State().Checkpoint(id)
	switch {
	case ref == nil:
		return fmt.Errorf("mark checkpoint %s: %w", id, state.ErrNoCheckpoint)
	case ref.Damage != nil:
		return nil
	}
	x.Add(state.CheckpointDamaged{ID: id, Reason: state.Text(reason)})
	if err := x.Publish(ctx); err != nil {
		return fmt.Errorf("mark checkpoint %s: %w", id, err)
	}
	return nil
}

// Marks is the result of marking checkpoints.
type Marks struct {
	Marked   []string `json:"marked"`   // newly found damaged
	Unmarked []string `json:"unmarked"` // were marked as damaged and are whole again
}

// Mark records the findings of a validation: new damage, and marked checkpoints that are
// whole again. A checkpoint only counts as whole again if every byte was read.
func Mark(ctx context.Context, x *checkpoint.Session, v *Validation) (Marks, error) {
	m := Marks{Marked: []string{}, Unmarked: []string{}}
	if x.State() == nil {
		return m, fmt.Errorf("mark checkpoints of %s: %w", x.PRD(), checkpoint.ErrNoSession)
	}
	if err := v.Unread(); err != nil {
		return m, fmt.Errorf("mark checkpoints of %s: %w", x.PRD(), err)
	}
	for _, s := range v.Sessions {
		if s.Place != disk.PlaceCurrent || s.State == nil || s.State.Session != x.State().Session {
			continue
		}
		for _, c := range s.Checkpoints {
			ref := x.State().Checkpoint(c.Ref.ID)
			switch {
			case ref == nil:
			case !c.Whole() && ref.Damage == nil:
				x.Add(state.CheckpointDamaged{ID: ref.ID, Reason: state.Text(c.Reason())})
				m.Marked = append(m.Marked, ref.ID)
			case c.Whole() && ref.Damage != nil:
				x.Add(state.CheckpointRebuilt{ID: ref.ID})
				m.Unmarked = append(m.Unmarked, ref.ID)
			}
		}
	}
	if err := x.Publish(ctx); err != nil {
		return m, fmt.Errorf("mark checkpoints of %s: %w", x.PRD(), err)
	}
	return m, nil
}
