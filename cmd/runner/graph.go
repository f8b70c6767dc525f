package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/page"
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
without a value, one instance is drawn, as NAME[…].

svg is a picture for a browser or a document, and html the same as a page in which you can
search. Phases are bands below each other, and lines lead down to what needs something;
lines that follow from others are left out. If the PRD has a session, the picture shows
what has become of each workstream and gate.`,
		Example: `  runner graph PRD-009
  runner graph PRD-009 --format svg > PRD-009.svg`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ref.SetName(env, cli.FirstArgument(args))
			return runGraph(cmd.Context(), env, o)
		},
	}
	o.ref.AddFlags(cmd)
	o.ref.AllowUnset = true
	formats := []string{"text", "svg", "html", "dot", "mermaid", "json"}
	cmd.Flags().Var(cli.NewEnum(&o.format, formats...), "format", "what to print: "+words.OneOf(formats))
	return cmd
}

func runGraph(ctx context.Context, env *cli.Environment, o graphOptions) error {
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
	case "svg":
		d := graph.Drawing{}
		if marks := marksOf(ctx, env, cfg, o.ref, p.ID); marks != nil {
			d.Mark = func(name string) graph.Mark { return marks[name] }
		}
		return g.Layout().WriteSVG(env.Stdout, d)
	case "html":
		return page.Graph(env.Stdout, g, marksOf(ctx, env, cfg, o.ref, p.ID), env.Version)
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

// marksOf returns how the statuses of the session of a PRD are drawn, nil if it has none.
func marksOf(ctx context.Context, env *cli.Environment, cfg *config.Config, ref load.PipelineRef, prd string) map[string]graph.Mark {
	status, err := inspect.StatusIfAny(ctx, env, cfg, ref, prd)
	if err != nil {
		fmt.Fprintf(env.Stderr, "Warning: the picture shows no statuses: %v\n", err)
	}
	if status == nil {
		return nil
	}
	return status.Marks()
}
