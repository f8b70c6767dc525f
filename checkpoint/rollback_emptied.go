package checkpoint

import (
	"context"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// leftEmptied says which directories a rollback that was cut short may have
// emptied, and not removed any more. In its first run, of which before are the
// files, there are none.
func (x *Session) leftEmptied(ctx context.Context, w *workspace.Workspace, intent state.RollbackStarted, to *state.State, before *workspace.Listing) (workspace.RestoreOptions, error) {
	if before != nil || w == nil {
		return workspace.RestoreOptions{}, nil
	}
	safety, err := x.store.filesOf(ctx, w, x.prd, intent, intent.Safety)
	if err != nil {
		return workspace.RestoreOptions{}, err
	}
	target, known, err := FilesOf(ctx, w, to)
	if err != nil {
		return workspace.RestoreOptions{}, err
	}
	if !known {
		target = safety.With(target.Entries)
	}
	return workspace.RestoreOptions{Emptied: workspace.Emptied(safety, target)}, nil
}

// dropEmptied drops the paths of directories that a rollback has emptied itself.
// That is no edit.
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
