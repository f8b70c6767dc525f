package checkpoint

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// lostRemedy returns the advice for a checkpoint that can't be read and can't be rebuilt,
// in the session in dir. If id is "" the advice is for the session's journal.
func (s *Store) lostRemedy(prd, dir, id string) string {
	switch current := dir == s.layout.PRDDir(prd); {
	case current && id != "":
		return fmt.Sprintf("put back a copy, or give it up: `runner checkpoint delete %s %s`", prd, id)
	case current:
		return state.AbandonRemedy(prd)
	}
	return "put back a copy, or, if nothing in it is needed, remove the archived session: rm -r " + text.ShellWord(dir)
}

// MarkDamaged records, durably, that a checkpoint was found damaged, and why. A checkpoint
// that is already marked keeps its mark: the time of the mark is when the damage was first
// found.
func (x *Session) MarkDamaged(ctx context.Context, id, reason string) error {
	if x.live == nil {
		return fmt.Errorf("mark checkpoint %s: %w", id, ErrNoSession)
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
func (x *Session) Mark(ctx context.Context, v *Validation) (Marks, error) {
	m := Marks{Marked: []string{}, Unmarked: []string{}}
	if x.live == nil {
		return m, fmt.Errorf("mark checkpoints of %s: %w", x.prd, ErrNoSession)
	}
	if err := v.Unread(); err != nil {
		return m, fmt.Errorf("mark checkpoints of %s: %w", x.prd, err)
	}
	for _, s := range v.Sessions {
		if s.Place != PlaceCurrent || s.State == nil || s.State.Session != x.State().Session {
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
		return m, fmt.Errorf("mark checkpoints of %s: %w", x.prd, err)
	}
	return m, nil
}
