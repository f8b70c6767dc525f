package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// TidyResult says what Tidy removed, archived and collected at the end of a run.
type TidyResult struct {
	Pruned    Pruned
	Spared    []KeptCheckpoint // kept by on_complete: delete, although they are not pinned
	Archived  string           // the directory of the archived session; "": it is still the current one
	Collected Collected        // zero if nothing was collected
	Warnings  []string
}

// Tidy applies the policy at the end of a run. It removes checkpoints and sessions by
// their age and size, applies on_complete, and then collects objects if any were given
// up. It does not wait for other owners: if it can't get the lock of the state
// directory exclusively, it leaves collecting to the next run. If it cannot read what
// the store holds, it does not fail: it returns a warning, and removes nothing for lack
// of that knowledge.
//
// Tidy reads the names of the PRD's files and the journals of its archived sessions. It
// reads objects only if some were given up. Afterwards the session may be archived, and
// State nil.
func Tidy(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) (TidyResult, error) {
	var t TidyResult
	if x.State() == nil || x.State().Rollback != nil {
		return t, nil
	}
	if _, err := x.Drain(ctx); err != nil {
		return t, err
	}
	seen, err := inventory.ScanJournals(ctx, x)
	if err != nil {
		return t, err
	}
	limit := int64(x.Store().Policy().Retention.MaxSizeMB) * retention.Megabyte
	planned, err := planPrune(ctx, x.Store(), x.PRD(), seen.Records, Options{}, limit > 0 && seen.AtMost > limit)
	if err != nil {
		return t, err
	}
	t.Pruned, t.Warnings = *planned, append(seen.Warnings, planned.Warnings...)
	emptied, err := complete(ctx, x, &t)
	if err == nil {
		err = carryOut(ctx, x, &t.Pruned, retentionReason)
	}
	if err != nil {
		return t, err
	}
	if t.Pruned.Over > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf(
			"%s holds %d MB more than it may (%d MB): raise checkpoint.storage.max_size_mb, or unpin or keep fewer",
			x.PRD(), retention.InMB(t.Pruned.Over), x.Store().Policy().Retention.MaxSizeMB))
	}
	trash, err := store.Exists(x.Store().Layout().FS, x.Store().Layout().TrashPath())
	if err != nil {
		return t, err
	}
	if emptied || !t.Pruned.isEmpty() || trash {
		return t, collectInto(ctx, x, w, &t, nil)
	}
	return t, collectInto(ctx, x, w, &t, seen.Dropped)
}

// complete applies on_complete to a complete session. It reports whether objects were
// given up.
func complete(ctx context.Context, x *checkpoint.Session, t *TidyResult) (emptied bool, err error) {
	if x.State().Status != state.StatusComplete {
		return false, nil
	}
	switch x.Store().Policy().OnComplete {
	case checkpoint.DeleteOnComplete:
		return emptySession(ctx, x, t)
	case checkpoint.ArchiveOnComplete:
		t.Archived, err = x.Archive(ctx, state.Actor{}, "")
		t.Pruned.Checkpoints, t.Pruned.Lost = nil, nil // they were archived with the session
	case checkpoint.KeepOnComplete:
	}
	return false, err
}

// collectInto collects unneeded objects, if no other session holds the lock of the state
// directory. If dropped is not nil, it does so only if at least one of the dropped objects
// is no longer needed.
func collectInto(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, t *TidyResult, dropped []string) error {
	if dropped != nil && len(dropped) == 0 {
		return nil
	}
	err := x.WithExclusiveLock(ctx, func() (err error) {
		inv, err := inventory.Read(ctx, x.Store(), inventory.Removed{})
		if err != nil {
			return &NotCollectedError{err}
		}
		if dropped != nil && !slices.ContainsFunc(dropped, func(digest string) bool { return !inv.Needs(digest) }) {
			return nil
		}
		t.Collected, err = remove(ctx, x.Store(), w, inv, false)
		return err
	})
	var unknown *NotCollectedError
	var locked *checkpoint.LockedError
	switch {
	case errors.As(err, &locked):
		return nil // the next run collects
	case errors.As(err, &unknown) && ctx.Err() == nil:
		t.Warnings = append(t.Warnings, unknown.Error())
		return nil
	}
	return err
}

// emptySession applies on_complete: delete. It removes the checkpoints that are neither
// pinned nor irreplaceable, and gives up the objects that the session itself needs. It
// reports whether there was anything to remove.
func emptySession(ctx context.Context, x *checkpoint.Session, t *TidyResult) (bool, error) {
	s := x.State()
	spared := s.Irreplaceable()
	if holdsNothing(s, spared) {
		return false, nil
	}
	p := &t.Pruned
	p.Checkpoints, p.Kept, p.Keeps, p.Lost, p.Over = nil, 0, nil, nil, 0
	e := state.CheckpointsRemoved{IDs: []string{}, Reason: "on_complete: delete", Empties: true}
	for _, ref := range slices.Backward(s.Checkpoints) {
		switch why, needed := spared[ref.ID]; {
		case ref.Pinned:
			p.Keeps = append(p.Keeps, KeptCheckpoint{ref, "pinned"})
		case needed:
			p.Keeps = append(p.Keeps, KeptCheckpoint{ref, why})
			t.Spared = append(t.Spared, KeptCheckpoint{ref, why})
		default:
			e.IDs = append(e.IDs, ref.ID)
		}
	}
	p.Kept = len(p.Keeps)
	slices.Reverse(p.Keeps)
	slices.Reverse(t.Spared)
	x.Add(e)
	return true, x.Commit(ctx)
}

// holdsNothing reports whether a session holds only checkpoints that are pinned or spared.
func holdsNothing(s *state.State, spared map[string]string) bool {
	others := slices.ContainsFunc(s.Checkpoints, func(ref *state.CheckpointRef) bool { return !ref.Pinned && spared[ref.ID] == "" })
	if others || s.Capture != nil || s.RunCapture != nil {
		return false
	}
	for w := range s.Records() {
		if s.HoldsArtifacts(w) {
			return false
		}
	}
	return true
}
