package load

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
)

// NotCapturedAt returns the files that the capture of a checkpoint left out.
func NotCapturedAt(ctx context.Context, env *cli.Environment, store *checkpoint.Store, ref *state.CheckpointRef) (info.NotCaptured, error) {
	l := &workspace.Listing{}
	if c := ref.Capture; c != nil && c.LeftOut+c.Unstable+c.Special > 0 {
		err := WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) (err error) {
			l, err = w.Load(ctx, c.Listing)
			return err
		})
		if err != nil {
			return info.NotCaptured{}, err
		}
	}
	return info.NewNotCaptured(l.LeftOut, l.Unstable, l.Special), nil
}
