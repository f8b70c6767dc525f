package rollback

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// filesBefore returns the files as recorded in the checkpoint that undoes the rollback. It
// returns nil if the rollback restores no files.
func filesBefore(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) (*workspace.Listing, error) {
	s := x.State()
	if w == nil || s.Capture == nil || s.Rollback.Scope == state.RollbackState {
		return nil, nil
	}
	l, err := w.Load(ctx, s.Capture.Listing)
	if err != nil {
		return nil, fmt.Errorf("load the files as they were recorded before the rollback: %w", err)
	}
	return l, nil
}

// unedited returns a *workspace.ChangedError if a file was edited since the capture in
// before. It checks only if git is about to reset the branch, because git, unlike Restore,
// overwrites files without comparing them.
func unedited(ctx context.Context, w *workspace.Workspace, before *workspace.Listing) error {
	if before == nil || !w.CommitsToBranch() {
		return nil
	}
	found, err := w.Now(ctx, before.Patterns)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	edits := slices.DeleteFunc(workspace.Diff(before, found), func(c workspace.Change) bool { return before.Lacks(c.Path) })
	if len(edits) > 0 {
		return &workspace.ChangedError{Path: edits[0].Path}
	}
	return nil
}

// undoFiles restores the files to where the rollback began. In the first run of a
// rollback, when before is not nil, files that were edited meanwhile are in no checkpoint,
// so undoFiles leaves them.
func undoFiles(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, before *workspace.Listing) error {
	safety, err := x.Store().ReadCheckpoint(x.PRD(), intent.Safety)
	if err != nil {
		return err
	}
	var found *workspace.Listing
	if before != nil && !w.CommitsToBranch() {
		if found, err = listWithoutEdits(ctx, x, w, intent, before); err != nil {
			return err
		}
	}
	back := intent
	back.To, back.Force = intent.Safety, false
	left := workspace.RestoreOptions{Earlier: changedPaths(ctx, x, w, intent, safety.State)}
	_, err = restoreFiles(ctx, x, w, back, safety.State, found, left)
	return err
}

// changedPaths returns the paths that a rollback was to change, so that its temporary files
// are removed there. Undoing the rollback may change fewer paths, or none if no file has
// been changed yet. It returns nil if the target or the files are unreadable: then the
// rollback changed nothing.
func changedPaths(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, before *state.State) (paths []string) {
	target, err := targetOf(x.Store(), x.PRD(), intent)
	if err != nil {
		return nil
	}
	from, _, err := checkpoint.FilesOf(ctx, w, before)
	if err != nil {
		return nil
	}
	to, _, err := checkpoint.FilesOf(ctx, w, target)
	if err != nil {
		return nil
	}
	for _, c := range workspace.Diff(from, to) {
		paths = append(paths, c.Path)
	}
	return paths
}

// listWithoutEdits lists the present files, except those that match neither before nor the
// target. These were edited meanwhile. They are listed as in before, so that the undo does
// not touch them.
func listWithoutEdits(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, before *workspace.Listing) (*workspace.Listing, error) {
	found, err := w.Now(ctx, before.Patterns)
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	ours := map[string]workspace.Entry{}
	target, err := filesOf(ctx, x.Store(), w, x.PRD(), intent, intent.To)
	if err != nil && !objects.IsLost(err) {
		return nil, err
	}
	if err == nil { // if the target's list is lost, the rollback wrote nothing
		for _, e := range target.Entries {
			ours[e.Path] = e
		}
	}
	edited := map[string]bool{}
	for _, c := range workspace.Diff(before, found) {
		if e, ok := ours[c.Path]; c.To != nil && (!ok || e.Digest != c.To.Digest || e.Mode != c.To.Mode) {
			edited[c.Path] = true
		}
	}
	l := &workspace.Listing{Patterns: found.Patterns, LeftOut: found.LeftOut, Unstable: found.Unstable, Special: found.Special, Sparse: found.Sparse}
	for _, e := range found.Entries {
		if !edited[e.Path] {
			l.Entries = append(l.Entries, e)
		}
	}
	var were []workspace.Entry
	for _, e := range before.Entries {
		if edited[e.Path] {
			were = append(were, e)
		}
	}
	return l.With(were), nil
}
