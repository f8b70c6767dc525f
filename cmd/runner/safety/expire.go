package safety

import (
	"context"
	"fmt"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner/view"
)

// Expire removes, at the end of a run, the safety checkpoints that have certainly expired.
// If another process works in the state directory, or if the server with the copy of a
// database can't be reached, the next run does it.
func Expire(ctx context.Context, env *cli.Environment, session *checkpoint.Session, w *workspace.Workspace) error {
	saved := session.Store().Safety()
	all, _, err := saved.List()
	if err != nil || len(all) == 0 {
		return err
	}
	clock := prune.Clock(session)
	var expired []*safety.Checkpoint
	for _, c := range all {
		if c.ExpiresAt != nil && clock.Passed(c.CreatedAt, c.ExpiresAt.Sub(c.CreatedAt)) {
			expired = append(expired, c)
		}
	}
	if len(expired) == 0 {
		return nil
	}
	needed, err := session.Store().Protecting()
	if err != nil {
		return err
	}
	expired = slices.DeleteFunc(expired, func(c *safety.Checkpoint) bool { _, protects := needed[c.ID]; return protects })
	err = session.WithExclusiveLock(ctx, func() error { return removeExpired(ctx, env, session.Store(), w, expired) })
	if advice.IsA[*checkpoint.LockedError](err) {
		return nil
	}
	return err
}

// removeExpired removes checkpoints, except for those that an interrupted restore needs.
func removeExpired(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, expired []*safety.Checkpoint) error {
	record := checkpoint.AuditRecord{What: "safety prune"}
	record.Because("expired")
	err := change.WithAudit(env, store, &record, func() error {
		saved := store.Safety()
		half, err := saved.Interrupted()
		if err != nil {
			return err
		}
		for _, c := range expired {
			if half.Involves(c.ID) {
				continue
			}
			switch err := saved.Delete(ctx, w, c.ID); {
			case advice.IsA[*safety.CopyError](err):
				env.Warn(fmt.Errorf("%w; the next run tries again", err))
			case err != nil:
				return err
			default:
				record.IDs = append(record.IDs, c.ID)
			}
		}
		return nil
	})
	if n := len(record.IDs); n > 0 {
		fmt.Fprintf(env.Stderr, "Removed %s that had expired\n", view.Plural(n, "safety checkpoint"))
	}
	return err
}
