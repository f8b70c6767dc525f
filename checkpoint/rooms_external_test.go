package checkpoint_test

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

var _ = checkpoint.SetRooms(checkpoint.Rooms{
	RollBack: func(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace, to string, scope state.RollbackScope, reason string) (string, error) {
		done, err := rollback.Run(ctx, x, w, rollback.Options{To: to, Scope: scope, Reason: reason, By: checkpointtest.By})
		if err != nil {
			return "", err
		}
		return done.Safety, nil
	},
	FinishRollback: func(ctx context.Context, x *checkpoint.Session, w *workspace.Workspace) error {
		_, err := rollback.Finish(ctx, x, w)
		return err
	},
	PlanRollback: func(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, to string) error {
		_, err := rollback.PlanTo(ctx, s, w, "PRD-009", rollback.Options{To: to, By: checkpointtest.By})
		return err
	},
	Inspect: func(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, reference string) (*disk.CheckpointFile, string, error) {
		found, err := rollback.Inspect(ctx, s, w, "PRD-009", reference)
		if err != nil {
			return nil, "", err
		}
		return found.File, found.Check.Reason(), nil
	},
})
