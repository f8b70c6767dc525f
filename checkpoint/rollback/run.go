package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Result is the result of a rollback.
type Result struct {
	state.RollbackRecord
	Written     int // number of files
	Deleted     int
	Invalidated []string // IDs of checkpoints that became invalid
	Losses      []Loss   // artifacts that sessions of other PRDs lost, according to the plan
	Untouched            // empty after an interrupted rollback was finished
	Again       []string // workstreams that run again because the state is an earlier one than the target's
	Absent      string   // the commit to which HEAD was not reset, because the repository lacks it
}

// Error is returned when a rollback failed. It tells the user where the session,
// the files and git are.
type Error struct {
	To       string // the checkpoint to go back to
	Safety   string // the checkpoint made before the rollback
	Undone   bool   // the files from before the rollback are back; else the files are a mixture
	Step     int    // the session's current step
	Branch   string // git's branch, "" outside a work tree
	Commit   string
	Status   string // git's status, short form
	Err      error
	UndoFail error // why the files could not be restored
}

func (e *Error) Error() string {
	text := fmt.Sprintf("roll back to %s: %v", e.To, e.Err)
	if !e.Undone {
		text += fmt.Sprintf("; the files could not be put back either: %v", e.UndoFail)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Run goes back to a checkpoint. It restores state and files together, unless the
// scope says otherwise. It first records the present state and files in a pre_rollback
// checkpoint, so that it can be undone. It holds the exclusive lock of the state
// directory, and returns a *checkpoint.LockedError if another process writes there.
//
// If files can't be restored it returns a *workspace.MissingError, and if something is in
// their place a *workspace.ObstructedError. In both cases nothing was changed. With Force
// it skips these files instead.
func Run(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, o Options) (*Result, error) {
	if x.State() == nil {
		return nil, fmt.Errorf("roll back %s: %w", x.PRD(), checkpoint.ErrNoSession)
	}
	if x.State().Rollback != nil {
		return nil, fmt.Errorf("roll back %s: %w", x.PRD(), checkpoint.UnfinishedRollback(x.State()))
	}
	plan, err := planTo(ctx, x.Store(), w, x.State(), o)
	if err != nil {
		return nil, err
	}
	if err := plan.Refused(o.Force); err != nil {
		return nil, err
	}
	var done *Result
	err = x.WithExclusiveLock(ctx, func() error {
		if err := begin(ctx, x, w, plan, o); err != nil {
			return err
		}
		before, err := filesBefore(ctx, x, w)
		if err != nil {
			return err
		}
		done, err = carryOut(ctx, x, w, before)
		return err
	})
	if done != nil {
		done.Untouched, done.Losses = plan.Untouched, plan.Losses
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

// Refused returns the error with which Rollback would refuse the plan, nil if it would
// carry it out. force overrides some of the reasons.
func (r *Plan) Refused(force bool) error {
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

// begin makes the checkpoint that undoes the rollback, and records the intent.
// Once the intent is durable, Runner finishes the rollback even after a crash.
func begin(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, plan *Plan, o Options) error {
	if w != nil {
		patterns, err := safetyPatterns(ctx, x, w, plan)
		if err != nil {
			return err
		}
		w.Invalidate(workspace.Replaced(plan.Changes))
		captured, err := x.CaptureFor(ctx, w, patterns, state.TriggerPreRollback)
		if err == nil && plan.Scope != state.RollbackState {
			err = secureFor(ctx, x, w, captured.Listing, plan.state)
		}
		if err != nil {
			return err
		}
	}
	needed := map[string]string{plan.Target.ID: "a rollback goes back to it"}
	for _, ref := range x.State().MadeAt(plan.stateSeq()) {
		needed[ref.ID] = "a rollback takes its state"
	}
	safety, made := x.CheckpointKeeping(state.TriggerPreRollback, o.Reason, checkpoint.GitOf(ctx, w), needed)
	if !made {
		return fmt.Errorf("roll back %s: checkpoints are switched off, so that it could not be undone", x.PRD())
	}
	x.Add(state.RollbackStarted{
		ID: uuid.NewString(), To: plan.Target.ID, ToSeq: plan.Target.Seq, ToStep: plan.ToStep(), Safety: safety,
		StateSeq: plan.stateSeq(), Scope: plan.Scope, Force: o.Force, Reason: state.Text(o.Reason), By: o.By,
	})
	return x.Commit(ctx)
}

// safetyPatterns returns the patterns of the capture that undoes a rollback: those of the
// present and of the target.
func safetyPatterns(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, plan *Plan) ([]string, error) {
	if plan.patterns != nil {
		return plan.patterns, nil
	}
	patterns, err := x.Store().CapturePatterns(ctx, w, x.State())
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

// carryOut carries out the recorded intent, and records the result. In the first
// run, before holds the files that were recorded before the rollback. A file that differs
// from it was edited since, and is not overwritten. After an interruption before is nil.
func carryOut(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, before *workspace.Listing) (*Result, error) {
	intent := *x.State().Rollback
	undo := func() error { return undoFiles(context.WithoutCancel(ctx), x, w, intent, before) }
	target, err := targetOf(x.Store(), x.PRD(), intent)
	if err != nil {
		return nil, fail(ctx, x, w, intent, err, undo)
	}
	var restored workspace.Restored
	if intent.Scope != state.RollbackState {
		if err := unedited(ctx, w, before); err != nil {
			return nil, fail(ctx, x, w, intent, err, func() error { return nil })
		}
		left, err := leftEmptied(ctx, x, w, intent, target, before)
		if err != nil {
			return nil, fail(ctx, x, w, intent, err, undo)
		}
		if restored, err = restoreFiles(ctx, x, w, intent, target, before, left); err != nil {
			return nil, fail(ctx, x, w, intent, err, undo)
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
	done := &Result{RollbackRecord: now.Rollbacks[len(now.Rollbacks)-1], Written: restored.Written, Deleted: restored.Deleted}
	for _, id := range valid {
		if ref := now.Checkpoint(id); ref != nil && !ref.Valid {
			done.Invalidated = append(done.Invalidated, id)
		}
	}
	return done, x.Publish(ctx)
}

// completion returns the event that takes a session to the state of a rollback's target.
func completion(intent state.RollbackStarted, target *state.State) state.RollbackCompleted {
	e := state.RollbackCompleted{ID: intent.ID}
	if intent.Scope != state.RollbackFiles {
		e.State = target.Clone()
		e.State.Checkpoints, e.State.Rollbacks = []*state.CheckpointRef{}, nil // the session keeps its own
	}
	return e
}

// validIDs returns the IDs of the valid checkpoints.
func validIDs(s *state.State) []string {
	var ids []string
	for _, ref := range s.Checkpoints {
		if ref.Valid {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// fail restores the files to where the rollback began, and records that it failed.
// If the files can't be restored, the intent stays on record, and the session's next owner
// tries again.
func fail(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, cause error, undo func() error) error {
	ctx = context.WithoutCancel(ctx)
	failed := &Error{To: intent.To, Safety: intent.Safety, Step: x.State().CurrentStep(), Err: cause}
	if intent.Scope != state.RollbackState {
		failed.UndoFail = undo()
	}
	failed.Undone = failed.UndoFail == nil
	if git := checkpoint.GitOf(ctx, w); git != nil {
		failed.Branch, failed.Commit = string(git.Branch), git.Commit
		if status, err := w.Git().Status(ctx); err == nil {
			failed.Status = status
		}
	}
	if !failed.Undone {
		return failed
	}
	x.Add(state.RollbackFailed{ID: intent.ID, Error: state.Text(cause.Error())})
	return errors.Join(failed, x.Commit(ctx))
}

// secureFor secures the files of a capture that restoring the files of a state overwrites
// or removes.
func secureFor(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, listing string, to *state.State) error {
	found, err := w.Load(ctx, listing)
	if err != nil {
		return fmt.Errorf("load the files as they were recorded: %w", err)
	}
	target, known, err := checkpoint.FilesOf(ctx, w, to)
	if err != nil {
		return err
	}
	if !known {
		target = found.With(target.Entries)
	}
	changes, err := changesTo(ctx, x.Store(), w, x.State(), to, found, target)
	if err != nil {
		return err
	}
	return checkpoint.SecurePaths(ctx, w, listing, workspace.Replaced(changes))
}
