package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type abandonOptions struct {
	prd     string
	message string
	yes     bool
}

func newAbandonCommand(env *cli.Environment) *cobra.Command {
	var o abandonOptions
	cmd := &cobra.Command{
		Use:   "abandon PRD",
		Short: "Give up an unfinished session",
		Long: `Give up an unfinished session: archive it, whole, under failed/ in the state
directory. Nothing is deleted, and files of the workspace are not changed. To
resume the session later, export it with "runner checkpoint export --session"
and import it with "runner checkpoint import".

If a rollback was cut short, abandon finishes it first, which does change
files. If files were edited since, abandon makes a checkpoint of the edits and
stops after the rollback, without archiving the session. It also takes back
what has come back in part from the work tree of an isolated workstream.`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			return runAbandon(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "record `TEXT` as the reason")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func runAbandon(ctx context.Context, env *cli.Environment, o abandonOptions) error {
	store, snap, err := load.Session(env, o.prd)
	var damaged *state.DamagedError
	var newer *state.VersionError
	if err != nil && !errors.As(err, &damaged) && !errors.As(err, &newer) {
		return err
	}
	if untrusted, err := store.Untrusted(ctx, o.prd); err != nil || untrusted != nil {
		return errors.Join(err, abandonUntrusted(ctx, env, store, o))
	}
	switch {
	case damaged != nil:
		return abandonDamaged(ctx, env, store, o, damaged)
	case newer != nil:
		return abandonNewer(ctx, env, store, o, newer)
	}
	switch {
	case snap.Owner != nil:
		return advice.LockedBy(o.prd, *snap.Owner)
	case snap.State == nil:
		return advice.HandWritten(o.prd)
	case change.StateAfterFinish(ctx, store, snap.State).Status == state.StatusComplete:
		return advice.Usagef("%s is complete: there is nothing to give up", o.prd)
	}
	question := fmt.Sprintf("Give the session of %s up (%s)? It is archived; to resume it later, export and import it.", o.prd, info.Progress(snap.State))
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, question); err != nil {
		return err
	}
	session, at, err := abandonSession(ctx, env, store, o.prd, o.message)
	if errors.As(err, &newer) && store.Layout().IsOfSession(o.prd, newer.Path) {
		return change.SetNewerAside(ctx, env, store, o.prd, "abandon", state.Text(o.message))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "Abandoned %s; archived under %s\n", o.prd, env.Display(at))
	show.BringBack(env.Stdout, env.CommandLine, o.prd, session)
	return nil
}

// abandonUntrusted sets aside state that git tracks, without reading it.
func abandonUntrusted(ctx context.Context, env *cli.Environment, store *checkpoint.Store, o abandonOptions) error {
	question := fmt.Sprintf("Git tracks the state of %s. Set all of it aside, and take it out of git's index?", o.prd)
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, question); err != nil {
		return err
	}
	return change.SetUntrustedAside(ctx, env, store, o.prd, "abandon", state.Text(o.message))
}

// abandonDamaged sets aside a session that can't be read, without changing it.
func abandonDamaged(ctx context.Context, env *cli.Environment, store *checkpoint.Store, o abandonOptions, damaged *state.DamagedError) error {
	question := fmt.Sprintf("%s is damaged (%s). Set everything of %s aside?", env.Display(damaged.Path), damaged.Detail, o.prd)
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, question); err != nil {
		return err
	}
	var at string
	record := checkpoint.AuditRecord{What: "abandon", PRD: o.prd, Reason: state.Text(o.message)}
	err := change.WithAudit(env, store, &record, func() (err error) {
		at, err = store.SetAside(ctx, o.prd)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "Set %s aside under %s\n", o.prd, env.Display(at))
	return nil
}

// abandonNewer sets aside a session that a newer version wrote, without reading it.
func abandonNewer(ctx context.Context, env *cli.Environment, store *checkpoint.Store, o abandonOptions, newer *state.VersionError) error {
	question := fmt.Sprintf("A newer version wrote %s. Set everything of %s aside?", env.Display(newer.Path), o.prd)
	if err := cli.Confirm(ctx, env.Terminal(), o.yes, question); err != nil {
		return err
	}
	return change.SetNewerAside(ctx, env, store, o.prd, "abandon", state.Text(o.message))
}

// abandonSession archives a session, and returns its id and its new directory.
func abandonSession(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd, reason string) (id, at string, err error) {
	t := change.LastTarget(env, store, prd)
	session, _, err := t.Lock(ctx)
	if err != nil {
		return "", "", err
	}
	record := checkpoint.AuditRecord{What: "abandon", Reason: state.Text(reason)}
	err = t.CarryOut(session, &record, func(session *checkpoint.Session) (err error) {
		if st := session.State(); st != nil {
			id = st.Session
		}
		at, err = session.Abandon(state.SessionAbandoned{By: env.Actor(), Reason: state.Text(reason)})
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("archive the session of %s: %w", prd, err)
	}
	return id, at, nil
}
