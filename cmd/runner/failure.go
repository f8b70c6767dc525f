package main

import (
	"slices"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/pipeline/diagnostics"
)

func newFailure(env *cli.Environment, err error) info.FailureReport {
	detail := info.FailureDetail{Message: state.Text(env.Localize(err.Error())), ExitCode: exitCode(err), Diagnostics: []diagnostics.Diagnostic{}}
	switch {
	case !silent(err):
		detail.Hint = state.Text(advice.Of(env.CommandLine, env.Actor().User, err))
	case env.Report != nil:
		detail.Diagnostics = env.Report.Diagnostics
	}
	return info.FailureReport{FormatVersion: info.FormatVersion, Error: detail}
}

// asksForJSON reports whether a command line asks for JSON. If an earlier flag is invalid,
// cobra has not set the --json flag, so asksForJSON searches the arguments too.
func asksForJSON(env *cli.Environment, cmd *cobra.Command) bool {
	flag := cmd.Flags().Lookup("json")
	if flag == nil {
		return false
	}
	args := env.Args
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return flag.Value.String() == "true" || !flag.Changed && slices.Contains(args, "--json")
}
