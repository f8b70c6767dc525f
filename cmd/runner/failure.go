package main

import (
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/pipeline"
	"slices"

	"github.com/spf13/cobra"
)

// failure is what a command with --json prints if it has only an error to report.
type failure struct {
	FormatVersion string        `json:"format_version"`
	Error         failureDetail `json:"error"`
}

type failureDetail struct {
	Message     state.Text                  `json:"message"`
	Hint        state.Text                  `json:"hint,omitempty"` // what the user can do
	ExitCode    int                         `json:"exit_code"`
	Diagnostics []pipeline.ReportDiagnostic `json:"diagnostics"` // of an invalid pipeline
}

func newFailure(env *environment, err error) failure {
	detail := failureDetail{Message: state.Text(env.Localize(err.Error())), ExitCode: exitCode(err), Diagnostics: []pipeline.ReportDiagnostic{}}
	switch {
	case !silent(err):
		detail.Hint = state.Text(advice.Of(env.CommandLine, env.actor().User, err))
	case env.report != nil:
		detail.Diagnostics = env.report.Diagnostics
	}
	return failure{outputFormat, detail}
}

// asksForJSON reports whether a command line asks for JSON. If an earlier flag is invalid,
// cobra has not set the --json flag, so asksForJSON searches the arguments too.
func asksForJSON(env *environment, cmd *cobra.Command) bool {
	flag := cmd.Flags().Lookup("json")
	if flag == nil {
		return false
	}
	args := env.args
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return flag.Value.String() == "true" || !flag.Changed && slices.Contains(args, "--json")
}
