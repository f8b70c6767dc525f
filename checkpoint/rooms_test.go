package checkpoint

import (
	"context"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Rooms are operations of packages that import this one, so that its internal tests cannot
// import them. The tests of package checkpoint_test fill them in.
type Rooms struct {
	// RollBack rolls back to a checkpoint, and returns the one that undoes the rollback. An
	// empty scope means state and files.
	RollBack       func(ctx context.Context, x *Session, w *workspace.Workspace, to string, scope state.RollbackScope, reason string) (safety string, err error)
	FinishRollback func(ctx context.Context, x *Session, w *workspace.Workspace) error
	PlanRollback   func(ctx context.Context, s *Store, w *workspace.Workspace, to string) error
	// Inspect returns the checkpoint, and a problem of it; "" if it is intact.
	Inspect func(ctx context.Context, s *Store, w *workspace.Workspace, reference string) (file *disk.CheckpointFile, problem string, err error)
}

var rooms Rooms

// SetRooms fills in the operations of other packages.
func SetRooms(r Rooms) bool {
	rooms = r
	return true
}
