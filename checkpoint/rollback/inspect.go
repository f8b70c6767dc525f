package rollback

import (
	"context"
	"errors"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// Inspection describes a checkpoint, and the state that a rollback to it takes.
type Inspection struct {
	validate.Inspection
	Earlier     *EarlierState     // the earlier state that the rollback takes; nil: the checkpoint's own
	EarlierGone *EarlierGoneError // why the rollback is refused; nil if it is not
}

// Inspect examines a checkpoint and the objects that it refers to. It takes no lock and
// changes nothing. Everything that it reads belongs to one commit of the session, even if
// another process writes meanwhile.
func Inspect(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd, reference string) (found *Inspection, err error) {
	err = s.Read(prd, func(snap *checkpoint.Snapshot) (amiss bool, err error) {
		ref, err := snap.FindCheckpoint(prd, reference)
		if err != nil {
			return false, err
		}
		described, err := validate.Inspect(ctx, s, w, snap.State, ref)
		if err != nil {
			return false, err
		}
		found = &Inspection{Inspection: *described}
		if w == nil || ref.InvalidatedBy != "" || !found.Intact() {
			return !found.Intact(), nil
		}
		r := &Plan{Target: ref, state: found.File.State}
		err = useProvedState(ctx, s, w, r, snap.State)
		if err != nil && !errors.As(err, &found.EarlierGone) {
			return false, err
		}
		found.Earlier = r.Earlier
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return found, ctx.Err()
}
