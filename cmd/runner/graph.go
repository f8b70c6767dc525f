package main

import (
	"context"
	"io"

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
	env    *cli.Environment
	stdout io.Writer
}

func newGraphCommand(env *cli.Environment) *cobra.Command {
	o := graphOptions{env: env, stdout: env.Stdout, format: "text"}
	cmd := &cobra.Command{
		Use:   "graph [PRD|FILE]",
		Short: "Draw the phases, workstreams and gates of a pipeline",
		Long: `Draw a pipeline. Variables need no values: if a for_each depends on a variable
without a value, one instance is drawn, as NAME[…].`,
		Example: `  runner graph PRD-009
  runner graph PRD-009 --format dot | dot -Tsvg > PRD-009.svg`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref.SetName(env, firstArgument(args))
			return runGraph(cmd.Context(), o)
		},
	}
	o.ref.AddFlags(cmd)
	o.ref.AllowUnset = true
	formats := []string{"text", "dot", "mermaid", "json"}
	cmd.Flags().Var(cli.NewEnum(&o.format, formats...), "format", "what to print: "+words.OneOf(formats))
	return cmd
}

func runGraph(_ context.Context, o graphOptions) error {
	cfg, err := o.env.LoadConfig()
	if err != nil {
		return err
	}
	p, err := load.Pipeline(o.env, cfg, o.ref)
	if err != nil {
		return err
	}
	g := graph.New(p)
	switch o.format {
	case "dot":
		return g.WriteDOT(o.stdout)
	case "mermaid":
		return g.WriteMermaid(o.stdout)
	case "json":
		return show.JSON(o.stdout, g)
	default:
		return g.WriteText(o.stdout)
	}
}
