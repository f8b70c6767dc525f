package checkpoints

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// takeCollected records the result of a collection. It is no error if nothing could be
// collected: the reason is shown, and the next collection does it. An interruption is an
// error.
func takeCollected(env *cli.Environment, c *info.Collection, done prune.Collected, err error) error {
	c.Done, c.Why = done, ""
	var none *prune.NotCollectedError
	if errors.As(err, &none) && !errors.Is(err, context.Canceled) {
		c.Why = env.Localize(none.Err.Error())
		return nil
	}
	return err
}

// collect removes the objects that nothing needs any more.
func collect(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, c *info.Collection) error {
	record := checkpoint.AuditRecord{What: "checkpoint collect"}
	return change.WithAudit(env, store, &record, func() error {
		done, err := prune.Collect(ctx, store, w)
		record.IDs = done.Refs
		err = takeCollected(env, c, done, err)
		switch {
		case c.Why != "":
			record.Because("nothing was collected: " + c.Why)
		case err == nil:
			record.Because(fmt.Sprintf("nothing kept needs them: %s, %s of git, %s",
				view.Plural(done.Objects, "object"), view.Plural(len(done.Refs), "reference"), view.Plural(done.Leftovers+done.Discarded, "leftover")))
		}
		return err
	})
}
