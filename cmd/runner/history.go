package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/history"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/show"
)

type historyOptions struct {
	prd  string
	last int
	json bool
}

func newHistoryCommand(env *cli.Environment) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history PRD",
		Short: "List the sessions of a PRD, and what got slower",
		Long: fmt.Sprintf(`List the sessions of a PRD, the oldest first: the current one and the archived ones, as
long as retention keeps them, with their results, and what in each of them was slower
than in the sessions before.

TOOK is the time of the runs of a session together. A phase or a workstream is slower if
it took more than %d %% and more than %s longer than the median of the earlier sessions:
of the last %d of them that have a time, and at least %d. The time of a workstream is
that of its successful attempt; results that a session took over or from the cache do
not count. The time of a phase is that in which an attempt or a gate of it ran, without
the pauses between runs and for people; it counts if the session ran the whole phase.

"runner diff" compares two sessions.`, history.MinPercent, history.MinTime, history.MaxEarlier, history.MinEarlier),
		Example: `  runner history PRD-009
  runner history PRD-009 --json | jq '.sessions[-1].slower'`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			if o.last < 0 || o.last == 0 && cmd.Flags().Changed("last") {
				return advice.Usagef("--last takes a number from 1")
			}
			return runHistory(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&o.last, "last", "n", 0, "list only the last `N` sessions")
	flags.BoolVar(&o.json, "json", false, "print one JSON object, with all durations")
	return cmd
}

func runHistory(ctx context.Context, env *cli.Environment, o historyOptions) error {
	report, err := inspect.History(ctx, env, o.prd)
	if err != nil {
		return err
	}
	if o.last > 0 {
		report.Last(o.last)
	}
	if o.json {
		return show.JSON(env.Stdout, report)
	}
	return show.History(env.Stdout, report)
}
