package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/page"
	"prdrunner/runner/sink"
)

type renderOptions struct {
	prd string
	out string
}

func newRenderCommand(env *cli.Environment) *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render PRD",
		Short: "Write a report of a session as an HTML file",
		Long: `Write what is known of the session of a PRD as one HTML file: its result, failures with
the ends of their logs, steps with the times of their attempts, the graph, gates,
metrics over the sessions, outputs, checkpoints and rollbacks, and why each step ran.

The file needs no other and opens nothing, so that it can be kept with the results of a
CI job and opened from there. It holds what the session has on record: no value of a
sensitive variable. Without -o it is written to standard output.`,
		Example: `  runner render PRD-009 -o report.html`,
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			return runRender(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVarP(&o.out, "out", "o", "", "write the report to `FILE`")
	return cmd
}

func runRender(ctx context.Context, env *cli.Environment, o renderOptions) error {
	overview, err := inspect.Overview(ctx, env, o.prd)
	if err != nil {
		return err
	}
	if o.out == "" {
		return page.Report(env.Stdout, env.CommandLine, overview, env.Version)
	}
	var report bytes.Buffer
	if err := page.Report(&report, env.CommandLine, overview, env.Version); err != nil {
		return err
	}
	err = sink.Write(sink.Page, env.Path(o.out), report.Bytes())
	if foreign := (*sink.ForeignError)(nil); errors.As(err, &foreign) {
		return advice.With(&advice.UsageError{Err: err}, "name another file, or remove that one first")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Report: %s\n", o.out)
	return err
}
