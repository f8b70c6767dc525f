package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/serve"
)

// newServeCommand returns the command serve, which runs other commands in this process.
func newServeCommand(env *cli.Environment) *cobra.Command {
	run := func(ctx context.Context, out io.Writer, args ...string) int {
		aside := env.Aside(out, append(env.GlobalFlags(), args...)...)
		aside.Painted = true
		return execute(ctx, aside)
	}
	return serve.NewCommand(env, serve.Commands{Run: run, ExitCode: exitCode})
}
