package checkpoint

import (
	"context"
	"errors"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Inspection is all that can be said of a checkpoint.
type Inspection struct {
	Check   CheckpointCheck
	File    *disk.CheckpointFile // nil where neither its file nor the journal gives it
	Unread  error                // why it is nil
	LeftOut []string             // sensitive files that its capture does not hold
	// Unstable are files that it does not hold since they kept changing, and
	// Special is what it does not since it could not be read, or is no file, or too long a one.
	Unstable, Special []string
	Earlier           *EarlierState     // to which a rollback to it takes the state, nil: to its own
	EarlierGone       *EarlierGoneError // why a rollback to it is refused, since that state is not there any more
}

// Inspect looks at a checkpoint and at what it refers to. It takes no lock and
// changes nothing. A damaged one is shown as the journal knows it, if it does.
func (s *Store) Inspect(ctx context.Context, w *workspace.Workspace, prd, reference string) (found *Inspection, err error) {
	err = s.Read(prd, func(snap *Snapshot) (amiss bool, err error) {
		ref, err := snap.find(prd, reference)
		if err != nil {
			return false, err
		}
		if found, err = s.inspect(ctx, w, snap.State, ref); err != nil {
			return false, err
		}
		return !found.Check.Whole() || found.File == nil, nil
	})
	if err != nil {
		return nil, err
	}
	return found, ctx.Err()
}

func (s *Store) inspect(ctx context.Context, w *workspace.Workspace, of *state.State, ref *state.CheckpointRef) (*Inspection, error) {
	at := StoredSession{PRD: of.PRD, Place: PlaceCurrent, Dir: s.layout.PRDDir(of.PRD), State: of}
	check, err := newChecker(s, w, false).check(ctx, at, ref)
	if err != nil {
		return nil, err
	}
	check.Current = ref == of.CurrentCheckpoint()
	found := &Inspection{Check: *check}
	if check.Journal {
		found.File, err = s.rebuildOne(of.PRD, at.Dir, ref.ID)
	} else {
		found.File, err = s.ReadFile(of, ref)
	}
	if err != nil {
		found.File, found.Unread = nil, err
		return found, nil
	}
	if c := found.File.State.Capture; c != nil && c.LeftOut+c.Unstable+c.Special > 0 && w != nil {
		if l, err := w.Load(ctx, c.Listing); err == nil { // else the check says it
			found.LeftOut, found.Unstable, found.Special = l.LeftOut, l.Unstable, l.Special
		}
	}
	if w != nil && ref.InvalidatedBy == "" && check.Whole() {
		r := &Rollback{Target: ref, state: found.File.State}
		err := s.vouchedState(ctx, w, r, of)
		if err != nil && !errors.As(err, &found.EarlierGone) {
			return nil, err
		}
		found.Earlier = r.Earlier
	}
	return found, nil
}
