package main

import (
	"context"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
	"prdrunner/pipeline/graph"
)

type graphOptions struct {
	ref    load.PipelineRef
	format string
}

func newGraphCommand(env *cli.Environment) *cobra.Command {
	o := graphOptions{format: "text"}
	cmd := &cobra.Command{
		Use:   "graph [PRD|FILE]",
		Short: "Draw the phases, workstreams and gates of a pipeline",
		Long: `Draw a pipeline. Variables need no values: if a for_each depends on a variable
without a value, one instance is drawn, as NAME[…].`,
		Example: `  runner graph PRD-009
  runner graph PRD-009 --format dot | dot -Tsvg > PRD-009.svg`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref.SetName(env, cli.FirstArgument(args))
			return runGraph(cmd.Context(), env, o)
		},
	}
	o.ref.AddFlags(cmd)
	o.ref.AllowUnset = true
	formats := []string{"text", "dot", "mermaid", "json"}
	cmd.Flags().Var(cli.NewEnum(&o.format, formats...), "format", "what to print: "+words.OneOf(formats))
	return cmd
}

func runGraph(_ context.Context, env *cli.Environment, o graphOptions) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	p, err := load.Pipeline(env, cfg, o.ref)
	if err != nil {
		return err
	}
	g := graph.New(p)
	switch o.format {
	case "dot":
		return g.WriteDOT(env.Stdout)
	case "mermaid":
		return g.WriteMermaid(env.Stdout)
	case "json":
		return show.JSON(env.Stdout, g)
	default:
		return g.WriteText(env.Stdout)
	}
}
