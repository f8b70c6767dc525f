package transfer

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// This file exports internals of the package to the tests in package transfer_test.

// Kill releases the lock of an import as the end of its process does.
func (i *Import) Kill() error { return i.shared.Unlock() }

// Changes returns the changes that restoring makes.
func (f *ImportFiles) Changes(overwrite bool) []workspace.Change { return f.changes(overwrite) }

// RestoreState restores the files of a state, as an import that may overwrite does.
func RestoreState(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, st *state.State) (*RestoredFiles, error) {
	files, err := planImported(ctx, w, st, nil, objectSource(x.Store()))
	if err != nil {
		return nil, err
	}
	done := &RestoredFiles{}
	return done, restoreImported(ctx, x, w, files, true, done)
}
