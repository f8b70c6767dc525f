package checkpoint

import (
	"context"
	"fmt"

	"prdrunner/checkpoint/workspace"
)

// Inspection is all that can be said of a checkpoint.
type Inspection struct {
	Check   CheckpointCheck
	File    *CheckpointFile // nil where neither its file nor the journal gives it
	LeftOut []string        // sensitive files that its capture does not hold
	// Unstable are files that it does not hold since they kept changing, and
	// Special is what it does not since it could not be read, or is no file.
	Unstable, Special []string
}

// Inspect looks at a checkpoint and at what it refers to. It takes no lock and
// changes nothing. A damaged one is shown as the journal knows it, if it does.
func (s *Store) Inspect(ctx context.Context, w *workspace.Workspace, prd, reference string) (*Inspection, error) {
	snap, err := s.Load(prd)
	if err != nil {
		return nil, err
	}
	if snap.State == nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", reference, prd, ErrNoCheckpoint)
	}
	ref, err := snap.State.FindCheckpoint(reference)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", reference, prd, err)
	}
	at := StoredSession{PRD: prd, Place: PlaceCurrent, Dir: s.prdDir(prd), State: snap.State}
	check, err := newChecker(s, w, false).check(ctx, at, ref)
	if err != nil {
		return nil, err
	}
	check.Current = ref == snap.State.CurrentCheckpoint()
	found := &Inspection{Check: *check}
	read := s.ReadCheckpoint
	if check.Journal {
		read = func(prd, id string) (*CheckpointFile, error) { return s.rebuildOne(prd, at.Dir, id) }
	}
	if found.File, err = read(prd, ref.ID); err != nil {
		found.File = nil
		return found, nil //nolint:nilerr // the check says why
	}
	if c := found.File.State.Capture; c != nil && c.LeftOut+c.Unstable+c.Special > 0 && w != nil {
		if l, err := w.Load(ctx, c.Listing); err == nil { // else the check says it
			found.LeftOut, found.Unstable, found.Special = l.LeftOut, l.Unstable, l.Special
		}
	}
	return found, ctx.Err()
}
