package rollback

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// leftEmptied returns the directories that an interrupted rollback may have emptied and
// not removed. There are none in the first run of a rollback, when before is not nil.
func leftEmptied(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, intent state.RollbackStarted, to *state.State, before *workspace.Listing) (workspace.RestoreOptions, error) {
	if before != nil || w == nil {
		return workspace.RestoreOptions{}, nil
	}
	safety, err := filesOf(ctx, x.Store(), w, x.PRD(), intent, intent.Safety)
	if err != nil {
		return workspace.RestoreOptions{}, err
	}
	target, known, err := checkpoint.FilesOf(ctx, w, to)
	if err != nil {
		return workspace.RestoreOptions{}, err
	}
	if !known {
		target = safety.With(target.Entries)
	}
	return workspace.RestoreOptions{Emptied: workspace.Emptied(safety, target)}, nil
}

// dropEmptied removes from paths the directories that the rollback emptied, because their
// change is no edit by the user.
func dropEmptied(paths map[string]bool, before, target, found *workspace.Listing) {
	if before == nil || target == nil {
		return
	}
	byItself := map[string]bool{}
	for _, dir := range workspace.Emptied(before, target) {
		byItself[dir] = true
	}
	for _, e := range found.Entries {
		if byItself[e.Path] && e.Mode&workspace.ModeDir != 0 {
			delete(paths, e.Path)
		}
	}
}
