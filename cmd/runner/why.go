package main

import (
	"context"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type whyOptions struct {
	pipeline load.PipelineRef
	name     string
	json     bool
}

func newWhyCommand(env *cli.Environment) *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why PRD WORKSTREAM|GATE",
		Short: "Explain why a workstream or gate ran, will run, or will not",
		Long: `Explain what the next build does with a workstream, an instance or a gate, and why
it ran last: what changed, with the differences that are on record, and the first
cause in the workstreams before it. If it has not started, say what keeps it: what
failed, runs or waits for an approval. While it runs, say since when, and why it runs.
The name of a workstream with for_each stands for all its instances.

What the next build does is what "runner plan --resume" says; why something ran is
what the journal recorded. Why changes nothing and takes no lock.`,
		Example: `  runner why PRD-009 archive
  runner why PRD-009 service
  runner why PRD-009 'service["api"]'
  runner why PRD-009 'lint (WS3)'`,
		Args: cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.SetName(env, args[0])
			o.name = args[1]
			return runWhy(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.pipeline.AddFlags(cmd)
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runWhy(ctx context.Context, env *cli.Environment, o whyOptions) error {
	e, err := inspect.Why(ctx, env, o.pipeline, o.name)
	switch {
	case err != nil:
		return err
	case o.json && e.Block != nil:
		return show.JSON(env.Stdout, e.Block)
	case o.json:
		return show.JSON(env.Stdout, e.Step)
	case e.Block != nil:
		return show.WhyBlock(env.Stdout, env.CommandLine, *e.Block, e.Next)
	}
	return show.Why(env.Stdout, env.CommandLine, env.Now(), *e.Step, e.Next)
}
