package checkpoints

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// runAdopt adopts a session that git tracks.
func runAdopt(ctx context.Context, env *cli.Environment, o importOptions) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	if err := load.CheckPRD(env, cfg, o.adopt); err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: o.adopt})
	if err != nil {
		return err
	}
	snap, err := store.Load(o.adopt)
	if err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
		return err
	}
	none := err != nil
	untrusted, err := store.Untrusted(ctx, o.adopt)
	switch {
	case err == nil && none && untrusted != nil:
		return advice.With(advice.Usagef("there is no session of %s to adopt: what git tracks of it is of earlier ones", o.adopt), advice.Untrusted(untrusted))
	case err == nil && none:
		return load.NoSession(env, store, o.adopt)
	case err != nil:
		return err
	case untrusted == nil:
		return advice.With(advice.Usagef("there is nothing to adopt: git does not track the state of %s", o.adopt), fmt.Sprintf("`runner status %s` shows its state", o.adopt))
	case snap.Owner != nil:
		return advice.LockedBy(o.adopt, *snap.Owner)
	case snap.State == nil:
		return advice.With(advice.HandWritten(o.adopt), fmt.Sprintf("read it; then `git rm --cached %s` takes it out of git, and a build continues from it", env.Display(untrusted.Path)))
	}
	result := info.NewAdoptReport(o.adopt, snap.State.Session, o.dryRun, untrusted.Tracked)
	if o.dryRun {
		return showAdopted(env, o, result)
	}
	question := fmt.Sprintf("Take over the session of %s (%s), and take its %s out of git's index?", o.adopt, info.Progress(snap.State), view.Plural(untrusted.Tracked, "file"))
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, question); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "checkpoint import --adopt", PRD: o.adopt, Session: result.Session}
	if err := change.WithAudit(env, store, &record, func() error { return adoptSession(ctx, env, store, o.adopt) }); err != nil {
		return err
	}
	return showAdopted(env, o, result)
}

// showAdopted shows which session was adopted, or would be.
func showAdopted(env *cli.Environment, o importOptions, result info.AdoptReport) error {
	if o.json {
		return show.JSON(env.Stdout, result)
	}
	return show.Adopted(env.Stdout, env.CommandLine, result)
}

// adoptSession adopts the session under a lock.
func adoptSession(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd string) error {
	session, err := store.LockUntrusted(ctx, prd, env.Actor())
	if err != nil {
		return err
	}
	return errors.Join(session.Adopt(ctx, env.Actor()), session.Close())
}
