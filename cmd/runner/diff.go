package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/history"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/show"
)

type diffOptions struct {
	prd      string
	from, to string
	json     bool
}

func newDiffCommand(env *cli.Environment) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff PRD [SESSION] [SESSION]",
		Short: "Compare two sessions",
		Long: fmt.Sprintf(`Show how two sessions of a PRD differ: results, what they did with workstreams,
durations, metrics, outputs and artifacts. SESSION is the beginning of an id as
"runner history" lists it, "latest", or "latest~N" for the N-th session before. Without
the second one, compare with the latest session; without both, compare the latest one
with the one before.

Durations are those that "runner history" compares; only those are shown that differ by
more than %d %% and more than %s. --json has all. "runner checkpoint diff" compares two
points of one session, with their files.`, history.MinPercent, history.MinTime),
		Example: `  runner diff PRD-009
  runner diff PRD-009 latest~3 latest
  runner diff PRD-009 7ff7286d --json`,
		Args: cli.Arguments(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.from, o.to = args[0], "latest~1", "latest"
			if len(args) > 1 {
				o.from = args[1]
			}
			if len(args) > 2 {
				o.to = args[2]
			}
			return runDiff(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object, with all durations")
	return cmd
}

func runDiff(ctx context.Context, env *cli.Environment, o diffOptions) error {
	report, err := inspect.SessionDiff(ctx, env, o.prd, o.from, o.to)
	if err != nil {
		return err
	}
	if o.json {
		return show.JSON(env.Stdout, report)
	}
	return show.SessionDiff(env.Stdout, report)
}
