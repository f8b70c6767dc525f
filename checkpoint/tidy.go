package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// TidyResult is what was put in order at the end of a run.
type TidyResult struct {
	Pruned    Pruned
	Spared    []KeptCheckpoint // by on_complete: delete, although nobody pinned them
	Archived  string           // where the session lies now, "" where it is still the current one
	Collected Collected        // zero where nothing was
	Warnings  []string
}

// Tidy does what the policy says of the end of a run: removes checkpoints and
// sessions by their age and size, and what on_complete says; then collects, if
// anything was dropped. It does not wait for others: what must be done alone
// is left to the next one where somebody else is at work. Nothing that it
// cannot find out makes it fail: that is a warning, and nothing is removed.
//
// It costs a look at the names of the PRD's files, and at the journals of its
// sessions that were set aside; objects are looked at only where something was
// dropped. After it, the session may be
// archived, and State be nil.
func (x *Session) Tidy(ctx context.Context, w *workspace.Workspace) (TidyResult, error) {
	var t TidyResult
	if x.live == nil || x.State().Rollback != nil {
		return t, nil
	}
	if _, err := x.Drain(ctx); err != nil {
		return t, err
	}
	seen, err := x.look(ctx)
	if err != nil {
		return t, err
	}
	limit := int64(x.store.o.Policy.Retention.MaxSizeMB) * retention.Megabyte
	planned, err := x.store.planPrune(ctx, x.prd, seen.records, PruneOptions{}, limit > 0 && seen.atMost > limit)
	if err != nil {
		return t, err
	}
	t.Pruned, t.Warnings = *planned, append(seen.warnings, planned.Warnings...)
	emptied, err := x.complete(ctx, &t)
	if err == nil {
		err = x.carryOut(ctx, &t.Pruned, retentionReason)
	}
	if err != nil {
		return t, err
	}
	if t.Pruned.Over > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf(
			"%s holds %d MB more than it may (%d MB): raise checkpoint.storage.max_size_mb, or unpin or keep fewer",
			x.prd, retention.InMB(t.Pruned.Over), x.store.o.Policy.Retention.MaxSizeMB))
	}
	trash, err := x.store.layout.Exists(x.store.layout.TrashPath())
	if err != nil {
		return t, err
	}
	if emptied || !t.Pruned.isEmpty() || trash {
		return t, x.collectInto(ctx, w, &t, nil)
	}
	return t, x.collectInto(ctx, w, &t, seen.dropped)
}

// complete does what on_complete says of a session that is. It reports whether
// objects were given up.
func (x *Session) complete(ctx context.Context, t *TidyResult) (emptied bool, err error) {
	if x.State().Status != state.StatusComplete {
		return false, nil
	}
	switch x.store.o.Policy.OnComplete {
	case DeleteOnComplete:
		return x.empty(ctx, t)
	case ArchiveOnComplete:
		t.Archived, err = x.retire(ctx, nil)
		t.Pruned.Checkpoints, t.Pruned.Lost = nil, nil // they went with it
	case KeepOnComplete:
	}
	return false, err
}

// collectInto collects, if that can be done now: in any case, or, where
// something that was dropped is named, only if nothing needs some of it.
func (x *Session) collectInto(ctx context.Context, w *workspace.Workspace, t *TidyResult, dropped []string) error {
	if dropped != nil && len(dropped) == 0 {
		return nil
	}
	err := x.alone(ctx, func() (err error) {
		inv, err := x.store.references(ctx, gone{})
		if err != nil {
			return &NotCollectedError{err}
		}
		if dropped != nil && !slices.ContainsFunc(dropped, func(digest string) bool { return !inv.needs(digest) }) {
			return nil
		}
		t.Collected, err = x.store.remove(ctx, w, inv, false)
		return err
	})
	var unknown *NotCollectedError
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		return nil // the next one will
	case errors.As(err, &unknown) && ctx.Err() == nil:
		t.Warnings = append(t.Warnings, unknown.Error())
		return nil
	}
	return err
}

// empty does what on_complete: delete says: every checkpoint goes that is not
// pinned and holds nothing irreplaceable, and what the session itself needs. It
// reports whether there was anything.
func (x *Session) empty(ctx context.Context, t *TidyResult) (bool, error) {
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
	return true, x.commit(ctx)
}

// holdsNothing reports whether a session holds nothing but checkpoints that are
// pinned, or spared.
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
