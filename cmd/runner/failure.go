package main

import (
	"slices"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/pipeline"
)

// failure is what a command with --json prints where an error is all that it has.
type failure struct {
	FormatVersion string        `json:"format_version"`
	Error         failureDetail `json:"error"`
}

type failureDetail struct {
	Message     checkpoint.Text             `json:"message"`
	Hint        checkpoint.Text             `json:"hint,omitempty"` // what to type
	ExitCode    int                         `json:"exit_code"`
	Diagnostics []pipeline.ReportDiagnostic `json:"diagnostics"` // of an invalid pipeline
}

func newFailure(env *environment, err error) failure {
	detail := failureDetail{Message: checkpoint.Text(env.localize(err.Error())), ExitCode: exitCode(err), Diagnostics: []pipeline.ReportDiagnostic{}}
	switch {
	case !silent(err):
		detail.Hint = checkpoint.Text(hintOf(env, err))
	case env.report != nil:
		detail.Diagnostics = env.report.Diagnostics
	}
	return failure{outputFormat, detail}
}

// asksForJSON reports whether a command line asks for JSON. The flag itself is not
// set where another one before it was wrong.
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
