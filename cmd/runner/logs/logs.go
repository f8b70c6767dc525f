// Package logs is the command `runner logs`: it finds the logs of a session and prints
// them. [NewCommand] returns it; begin there.
//
// Which steps have a log and where it is belongs here, and so does following logs that
// grow. Writing them does not: prdrunner/runner/process does that.
package logs

import (
	"context"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
)

type options struct {
	prd     string
	step    string
	attempt int
	follow  bool
	raw     bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Environment) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "logs PRD [WORKSTREAM]",
		Short: "Print the output of workstreams, gates, services and hooks",
		Long: `Print the output of the last attempt of a workstream or gate; without a name, of all
of them in the order of the pipeline. service.NAME is the output of a service, and
hook.failed.1 that of the first hook for the event failed. If an attempt took the
result of an earlier run from the cache, print the output of that run. On a
terminal, control characters are made harmless, unless --raw is given.`,
		Example: `  runner logs PRD-009 WS3 --attempt 1
  runner logs PRD-009 'lint (WS3)'
  runner logs PRD-009 -f`,
		Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.step = args[0], cli.FirstArgument(args[1:])
			return run(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&o.attempt, "attempt", 0, "print attempt `N` instead of the last one")
	flags.BoolVarP(&o.follow, "follow", "f", false, "keep printing new output until the session stops running")
	flags.BoolVar(&o.raw, "raw", false, "print every byte unchanged, even on a terminal")
	return cmd
}

func run(ctx context.Context, env *cli.Environment, o options) error {
	env.Signals.ResumeWith("") // an interrupted logs command leaves nothing to do
	store, st, err := load.State(env, o.prd)
	if err != nil {
		return err
	}
	if o.attempt < 0 || o.attempt > 0 && o.step == "" {
		return advice.Usagef("--attempt takes a number from 1 and a workstream")
	}
	hooks, err := findHooks(store, o.prd)
	if err != nil {
		return err
	}
	steps, err := findSteps(st, hooks, o.step)
	if err != nil {
		return err
	}
	p := &printer{env: env, store: store, prd: o.prd, session: st.Session, named: o.step != "" && len(steps) == 1, raw: o.raw || !env.IsTerminal(env.Stdout)}
	if o.follow {
		return p.follow(ctx, st, steps, o.attempt)
	}
	return p.printAll(steps, o.attempt)
}
