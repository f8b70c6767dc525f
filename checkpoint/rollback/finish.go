package rollback

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// FinishPlan is the plan of finishing an interrupted rollback. It is plain data.
type FinishPlan struct {
	state.RollbackStarted
	After  *state.State    // the state of the session afterwards
	Edited []string        // files edited since the interruption; a checkpoint keeps them before they are overwritten
	Moved  *HeadMovedError // why finishing would be refused; nil if it would not
}

// PlanFinish returns what finishing an interrupted rollback would do, nil if there is none
// or if an owner is carrying it out. It takes no lock and changes nothing. If w is nil, it
// examines the state only.
func PlanFinish(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string) (f *FinishPlan, err error) {
	err = s.Read(prd, func(snap *checkpoint.Snapshot) (amiss bool, err error) {
		if f = nil; snap.State != nil && snap.State.Rollback != nil && snap.Owner == nil {
			f, err = planFinish(ctx, s, w, snap.State)
		}
		return false, err
	})
	return f, err
}

func planFinish(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State) (*FinishPlan, error) {
	f := &FinishPlan{RollbackStarted: *now.Rollback, After: now.Clone()}
	target, err := targetOf(s, now.PRD, f.RollbackStarted)
	if err != nil {
		return nil, err
	}
	if err := f.After.ApplyOne(now.Seq, now.UpdatedAt, completion(f.RollbackStarted, target)); err != nil {
		return nil, fmt.Errorf("finish a rollback of %s: %w", now.PRD, err)
	}
	if w == nil || f.Scope == state.RollbackState {
		return f, nil
	}
	if f.Moved, err = headMoved(ctx, w, now, target); err != nil {
		return nil, err
	}
	f.Edited, _, err = editedSince(ctx, s, w, now)
	return f, err
}

// Finish finishes an interrupted rollback: it completes it or, if that fails,
// restores the files to where it began. Without an interrupted rollback it does nothing.
// Files that were edited since the interruption are first kept in a checkpoint, which
// State.KeptEdits returns. Finish returns a *HeadMovedError if it would reset a
// branch and HEAD is not where the rollback left it.
func Finish(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) (*Result, error) {
	if x.State() == nil || x.State().Rollback == nil {
		return nil, nil
	}
	if err := refuseMoved(ctx, x, w); err != nil {
		return nil, err
	}
	var done *Result
	err := x.WithExclusiveLock(ctx, func() (err error) {
		if err = keepEdits(ctx, x, w); err != nil {
			return err
		}
		done, err = carryOut(ctx, x, w, nil)
		return err
	})
	return done, err
}

func refuseMoved(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) error {
	intent := x.State().Rollback
	if w == nil || intent.Scope == state.RollbackState {
		return nil
	}
	target, err := targetOf(x.Store(), x.PRD(), *intent)
	if err != nil {
		return nil // carryOut reports the error and restores the files
	}
	moved, err := headMoved(ctx, w, x.State(), target)
	if err == nil && moved != nil {
		err = moved
	}
	return err
}

// keepEdits makes a checkpoint of the files that were edited since a rollback was
// interrupted.
func keepEdits(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) error {
	if w == nil || x.State().Rollback.Scope == state.RollbackState {
		return nil
	}
	edited, patterns, err := editedSince(ctx, x.Store(), w, x.State())
	if err != nil || len(edited) == 0 {
		return err
	}
	captured, err := x.CaptureFor(ctx, w, patterns, state.TriggerPreRollback)
	if err == nil {
		err = checkpoint.SecurePaths(ctx, w, captured.Listing, edited)
	}
	if err != nil {
		return err
	}
	if _, made := x.Checkpoint(state.TriggerPreRollback, "files that were edited while a rollback was not finished", checkpoint.GitOf(ctx, w)); !made {
		return fmt.Errorf("finish a rollback of %s: checkpoints are switched off, so that what was edited meanwhile would be lost", x.PRD())
	}
	// The checkpoint must be durable before files are overwritten. It needs a commit of
	// its own: in the commit that ends the rollback, it would have the state after the
	// rollback.
	return x.Publish(ctx)
}

// editedSince returns the files that were edited since a rollback was interrupted, and the
// patterns that it captured by. A file counts as edited if it differs from the checkpoint
// before the rollback, from the target, and from every checkpoint of edits that were kept
// already.
func editedSince(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State) (paths, patterns []string, err error) {
	intent := *now.Rollback
	if patterns, err = checkpoint.RecordedPatterns(ctx, w, now); err != nil {
		return nil, nil, err
	}
	known := []string{intent.Safety, intent.To}
	for _, ref := range now.KeptEdits(intent) {
		known = append(known, ref.ID)
	}
	lists := map[string]*workspace.Listing{}
	for _, id := range known {
		files, err := filesOf(ctx, s, w, now.PRD, intent, id)
		if err != nil && id != intent.Safety {
			continue // carryOut reports an unreadable target
		}
		if err != nil {
			return nil, nil, err
		}
		lists[id] = files
	}
	if to := lists[intent.To]; to != nil {
		for _, files := range lists {
			w.Invalidate(workspace.Replaced(workspace.Diff(files, to)))
		}
	}
	found, err := w.Now(ctx, patterns)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the workspace: %w", err)
	}
	edited := map[string]bool{}
	for _, e := range found.Entries {
		edited[e.Path] = true
	}
	for _, files := range lists {
		dropUnchanged(edited, files, found)
	}
	dropEmptied(edited, lists[intent.Safety], lists[intent.To], found)
	return slices.Sorted(maps.Keys(edited)), patterns, nil
}

// dropUnchanged removes from paths the files that found and files have in common.
func dropUnchanged(paths map[string]bool, files, found *workspace.Listing) {
	differs := map[string]bool{}
	for _, c := range workspace.Diff(files, found) {
		differs[c.Path] = c.To != nil
	}
	maps.DeleteFunc(paths, func(path string, _ bool) bool { return !differs[path] })
}

// filesOf returns the files of a checkpoint. For the target of the rollback it returns the
// files that the rollback restores, which may be those of an earlier state.
func filesOf(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, intent state.RollbackStarted, id string) (*workspace.Listing, error) {
	of := state.RollbackStarted{To: id}
	if id == intent.To {
		of = intent
	}
	state, err := targetOf(s, prd, of)
	if err != nil {
		return nil, err
	}
	l, _, err := checkpoint.FilesOf(ctx, w, state)
	return l, err
}
