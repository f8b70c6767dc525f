package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// RolledBack is what a rollback did.
type RolledBack struct {
	state.RollbackRecord
	Written     int // files
	Deleted     int
	Invalidated []string // checkpoints
	Losses      []Loss   // what sessions of other PRDs lost, as far as the plan told
	LeftAlone            // empty where a rollback that was cut short was finished
	Again       []string // workstreams that run again since the state was taken of an earlier moment
	Absent      string   // the commit that HEAD was not reset to, since the repository does not have it
}

// RollbackError says that a rollback failed, and where that leaves things.
type RollbackError struct {
	To       string // the checkpoint it was to go back to
	Safety   string // the one made before
	Undone   bool   // the files are as they were before; else they are of neither moment
	Step     int    // at which the session stands
	Branch   string // of git, "" outside a work tree
	Commit   string
	Status   string // of git, short
	Err      error
	UndoFail error // why the files could not be put back
}

func (e *RollbackError) Error() string {
	text := fmt.Sprintf("roll back to %s: %v", e.To, e.Err)
	if !e.Undone {
		text += fmt.Sprintf("; the files could not be put back either: %v", e.UndoFail)
	}
	return text
}

func (e *RollbackError) Unwrap() error { return e.Err }

// Rollback goes back to a checkpoint: state and files together, unless the
// scope says otherwise. What is there is recorded first, as a pre_rollback
// checkpoint, so that it can be undone. Nobody else may write to the state
// directory meanwhile: *LockedError. What can't be restored is a
// *workspace.MissingError, what is in the way of it a *workspace.ObstructedError,
// and nothing was changed, unless Force leaves it out.
func (x *Session) Rollback(ctx context.Context, w *workspace.Workspace, o RollbackOptions) (*RolledBack, error) {
	if x.live == nil {
		return nil, fmt.Errorf("roll back %s: %w", x.prd, ErrNoSession)
	}
	if x.State().Rollback != nil {
		return nil, fmt.Errorf("roll back %s: %w", x.prd, unfinished(x.State()))
	}
	plan, err := x.store.planRollback(ctx, w, x.State(), o)
	if err != nil {
		return nil, err
	}
	if err := plan.Refused(o.Force); err != nil {
		return nil, err
	}
	var done *RolledBack
	err = x.alone(ctx, func() error {
		if err := x.beginRollback(ctx, w, plan, o); err != nil {
			return err
		}
		before, err := x.filesBefore(ctx, w)
		if err != nil {
			return err
		}
		done, err = x.carryOutRollback(ctx, w, before)
		return err
	})
	if done != nil {
		done.LeftAlone, done.Losses = plan.LeftAlone, plan.Losses
		if plan.Earlier != nil {
			for _, w := range plan.Earlier.Again {
				done.Again = append(done.Again, w.Name)
			}
		}
		if plan.Git != nil && plan.Git.Absent {
			done.Absent = plan.Git.To
		}
	}
	return done, err
}

// Refused says why a rollback would refuse what the plan is, nil if it would not.
// What is forced goes past some of that.
func (r *Rollback) Refused(force bool) error {
	switch {
	case r.Finish != nil && r.Finish.Moved != nil:
		return r.Finish.Moved
	case len(r.Missing) > 0 && !force:
		return &workspace.MissingError{Missing: r.Missing}
	case len(r.Obstacles) > 0 && !force:
		return &workspace.ObstructedError{Obstacles: r.Obstacles}
	}
	return r.refusedByGit(force)
}

// beginRollback makes the checkpoint that undoes the rollback, and records the
// intent. From then on it is finished, whatever happens.
func (x *Session) beginRollback(ctx context.Context, w *workspace.Workspace, plan *Rollback, o RollbackOptions) error {
	if w != nil {
		patterns, err := x.safetyPatterns(ctx, w, plan)
		if err != nil {
			return err
		}
		w.Distrust(replaced(plan.Changes))
		captured, err := x.CaptureFor(ctx, w, patterns, state.TriggerPreRollback)
		if err == nil && plan.Scope != state.RollbackState {
			err = x.secureFor(ctx, w, captured.Listing, plan.state)
		}
		if err != nil {
			return err
		}
	}
	x.needed = map[string]string{plan.Target.ID: "a rollback goes back to it"}
	for _, ref := range x.State().MadeAt(plan.stateSeq()) {
		x.needed[ref.ID] = "a rollback takes its state"
	}
	defer func() { x.needed = nil }()
	safety, made := x.Checkpoint(state.TriggerPreRollback, o.Reason, gitOf(ctx, w))
	if !made {
		return fmt.Errorf("roll back %s: checkpoints are switched off, so that it could not be undone", x.prd)
	}
	x.Add(state.RollbackStarted{
		ID: uuid.NewString(), To: plan.Target.ID, ToSeq: plan.Target.Seq, ToStep: plan.ToStep(), Safety: safety,
		StateSeq: plan.stateSeq(), Scope: plan.Scope, Force: o.Force, Reason: state.Text(o.Reason), By: o.By,
	})
	return x.commit(ctx)
}

// safetyPatterns are the patterns of the capture that undoes a rollback: those
// of both sides.
func (x *Session) safetyPatterns(ctx context.Context, w *workspace.Workspace, plan *Rollback) ([]string, error) {
	if plan.patterns != nil {
		return plan.patterns, nil
	}
	patterns, err := x.store.CapturePatterns(ctx, w, x.State())
	if err != nil || plan.FilesOf == nil {
		return patterns, err
	}
	l, err := w.Load(ctx, plan.FilesOf.Listing)
	if err != nil {
		return nil, fmt.Errorf("load the files of the checkpoint: %w", err)
	}
	for _, pattern := range l.Patterns {
		if !slices.Contains(patterns, pattern) {
			patterns = append(slices.Clip(patterns), pattern)
		}
	}
	return patterns, nil
}

// gitOf reads where git stands, as far as that can be known.
func gitOf(ctx context.Context, w *workspace.Workspace) *state.Git {
	if w == nil || w.Git() == nil {
		return nil
	}
	branch, commit, err := w.Git().Head(ctx)
	if err != nil {
		return nil
	}
	return &state.Git{Branch: state.Text(branch), Commit: commit}
}

// carryOutRollback does what the intent says, and records how it ended. In its
// first run it is given the files that were recorded before (nil: it was cut
// short): what is not as they are was edited since, and is not overwritten.
func (x *Session) carryOutRollback(ctx context.Context, w *workspace.Workspace, before *workspace.Listing) (*RolledBack, error) {
	intent := *x.State().Rollback
	undo := func() error { return x.undoFiles(context.WithoutCancel(ctx), w, intent, before) }
	target, err := x.store.targetOf(x.prd, intent)
	if err != nil {
		return nil, x.failRollback(ctx, w, intent, err, undo)
	}
	var restored workspace.Restored
	if intent.Scope != state.RollbackState {
		if err := unedited(ctx, w, before); err != nil {
			return nil, x.failRollback(ctx, w, intent, err, func() error { return nil })
		}
		left, err := x.leftEmptied(ctx, w, intent, target, before)
		if err != nil {
			return nil, x.failRollback(ctx, w, intent, err, undo)
		}
		if restored, err = x.restoreFiles(ctx, w, intent, target, before, left); err != nil {
			return nil, x.failRollback(ctx, w, intent, err, undo)
		}
	}
	e := completion(intent, target)
	e.Written, e.Deleted = restored.Written, restored.Deleted
	for _, m := range restored.Skipped {
		e.Skipped = append(e.Skipped, state.Text(m.Path))
	}
	valid := validIDs(x.State())
	x.Add(e)
	if _, err := x.Drain(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	now := x.State()
	done := &RolledBack{RollbackRecord: now.Rollbacks[len(now.Rollbacks)-1], Written: restored.Written, Deleted: restored.Deleted}
	for _, id := range valid {
		if ref := now.Checkpoint(id); ref != nil && !ref.Valid {
			done.Invalidated = append(done.Invalidated, id)
		}
	}
	return done, x.Publish(ctx)
}

// completion is the event that takes a session to the state of a rollback's target.
func completion(intent state.RollbackStarted, target *state.State) state.RollbackCompleted {
	e := state.RollbackCompleted{ID: intent.ID}
	if intent.Scope != state.RollbackFiles {
		e.State = target.Clone()
		e.State.Checkpoints, e.State.Rollbacks = []*state.CheckpointRef{}, nil // these go on
	}
	return e
}

// validIDs are the ids of the valid checkpoints.
func validIDs(s *state.State) []string {
	var ids []string
	for _, ref := range s.Checkpoints {
		if ref.Valid {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// restoreFiles makes the files those of a state: first the files, verified, and
// then, where the state's commit is on a branch, HEAD and the index. A branch
// that is reset first would take files along that no checkpoint holds. They are
// expected to be as found says (nil: as they are). left says where a restore that
// was cut short may have left something.
func (x *Session) restoreFiles(ctx context.Context, w *workspace.Workspace, intent state.RollbackStarted, to *state.State, found *workspace.Listing, left workspace.RestoreOptions) (workspace.Restored, error) {
	if w == nil {
		return workspace.Restored{}, errors.New("the workspace is not known")
	}
	reset, err := x.resetFor(ctx, w, intent, to)
	if err != nil {
		return workspace.Restored{}, fmt.Errorf("reset the branch: %w", err)
	}
	restored, err := x.restoreListed(ctx, w, intent, to, found, left)
	if err != nil || reset == nil {
		return restored, err
	}
	if err := w.Git().Reset(ctx, reset.Branch, reset.To); err != nil {
		return restored, fmt.Errorf("reset the branch: %w", err)
	}
	return restored, nil
}

// restoreListed puts the files of a state in place, and touches nothing of git's.
func (x *Session) restoreListed(ctx context.Context, w *workspace.Workspace, intent state.RollbackStarted, to *state.State, found *workspace.Listing, left workspace.RestoreOptions) (workspace.Restored, error) {
	target, known, err := FilesOf(ctx, w, to)
	if err != nil {
		return workspace.Restored{}, err
	}
	patterns, err := recordedPatterns(ctx, w, x.State()) // of the safety checkpoint: both sides' patterns
	if err != nil {
		return workspace.Restored{}, err
	}
	if found == nil {
		if found, err = w.Now(ctx, patterns); err != nil {
			return workspace.Restored{}, fmt.Errorf("look at the workspace: %w", err)
		}
	}
	if !known {
		target = found.With(target.Entries)
	}
	changes, err := x.store.changesTo(ctx, w, x.State(), to, found, target)
	if err == nil {
		changes, err = x.exceptUnrecorded(ctx, w, changes)
	}
	if err != nil {
		return workspace.Restored{}, err
	}
	left.ID, left.Force = intent.ID, intent.Force
	return restoreChanges(ctx, w, patterns, changes, left)
}

// exceptUnrecorded leaves files alone that the last capture left out: what they
// are now is in no checkpoint, also if they are at rest again, or nothing tells
// any more that they hold a sensitive value.
func (x *Session) exceptUnrecorded(ctx context.Context, w *workspace.Workspace, changes []workspace.Change) ([]workspace.Change, error) {
	last := x.State().Capture
	if last == nil || last.LeftOut+last.Unstable+last.Special == 0 {
		return changes, nil
	}
	l, err := w.Load(ctx, last.Listing)
	if err != nil {
		return nil, fmt.Errorf("load what was left out of the last capture: %w", err)
	}
	return slices.DeleteFunc(changes, func(c workspace.Change) bool { return l.Lacks(c.Path) }), nil
}

// failRollback puts the files back to where the rollback began, and records
// that nothing was taken back. If even that fails the intent stays, and the
// next one who owns the session tries again.
func (x *Session) failRollback(ctx context.Context, w *workspace.Workspace, intent state.RollbackStarted, cause error, undo func() error) error {
	ctx = context.WithoutCancel(ctx)
	failed := &RollbackError{To: intent.To, Safety: intent.Safety, Step: x.State().CurrentStep(), Err: cause}
	if intent.Scope != state.RollbackState {
		failed.UndoFail = undo()
	}
	failed.Undone = failed.UndoFail == nil
	if git := gitOf(ctx, w); git != nil {
		failed.Branch, failed.Commit = string(git.Branch), git.Commit
		if status, err := w.Git().Status(ctx); err == nil {
			failed.Status = status
		}
	}
	if !failed.Undone {
		return failed
	}
	x.Add(state.RollbackFailed{ID: intent.ID, Error: state.Text(cause.Error())})
	return errors.Join(failed, x.commit(ctx))
}
