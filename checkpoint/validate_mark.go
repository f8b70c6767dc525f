package checkpoint

import (
	"context"
	"fmt"
)

// rebuildRemedy is the command that mends a checkpoint.
func rebuildRemedy(prd, id string) string {
	return fmt.Sprintf("`runner checkpoint rebuild %s %s` may mend it", prd, id)
}

// MarkDamaged records that a checkpoint was found damaged, and why. It is
// durable when MarkDamaged returns. One that is marked already stays as it is:
// the time of the mark is when the damage was first met.
func (x *Session) MarkDamaged(ctx context.Context, id, reason string) error {
	if x.live == nil {
		return fmt.Errorf("mark checkpoint %s: %w", id, ErrNoSession)
	}
	ref := x.State().indexed().checkpoints[id]
	switch {
	case ref == nil:
		return fmt.Errorf("mark checkpoint %s: %w", id, ErrNoCheckpoint)
	case ref.Damage != nil:
		return nil
	}
	x.Add(CheckpointDamaged{ID: id, Reason: Text(reason)})
	if _, err := x.Drain(ctx); err != nil {
		return fmt.Errorf("mark checkpoint %s: %w", id, err)
	}
	return x.WriteDerived(ctx, true)
}
