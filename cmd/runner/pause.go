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
	"prdrunner/cmd/runner/load"
)

// errNotRunning reports that a session has no owner to hand a request to.
var errNotRunning = errors.New("nothing runs it")

type pauseOptions struct {
	prd     string
	message string
}

func newPauseCommand(env *cli.Environment) *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "pause PRD",
		Short: "Ask a running session to pause",
		Long: `Ask the build that is running a session to pause at the next boundary: running
workstreams may finish, and nothing new starts. The command returns as soon as
the request is recorded.`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			return runPause(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "record `TEXT` as the reason")
	return cmd
}

func runPause(ctx context.Context, env *cli.Environment, o pauseOptions) error {
	store, snap, err := load.Session(env, o.prd)
	if err != nil {
		return err
	}
	notRunning := advice.With(advice.Usagef("%s cannot be paused: %w", o.prd, errNotRunning), fmt.Sprintf("`runner status %s` shows its state", o.prd))
	if snap.Owner == nil {
		return notRunning
	}
	request := checkpoint.Request{PRD: o.prd, Verb: checkpoint.VerbPause, Comment: state.Text(o.message), By: env.Actor(), At: env.Now()}
	// The owner may have ended in the meantime.
	err = (&change.Target{Env: env, Store: store, PRD: o.prd}).Ask(ctx, request, func(*checkpoint.Session, *change.FinishedRollback) error { return notRunning })
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s will pause at the next boundary\n", o.prd)
	return nil
}
