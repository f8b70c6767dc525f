package info

import (
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline/diagnostics"
)

// FailureReport is what a command with --json prints if it has only an error to report.
type FailureReport struct {
	FormatVersion string        `json:"format_version"`
	Error         FailureDetail `json:"error"`
}

// FailureDetail is the error of a command.
type FailureDetail struct {
	Message     state.Text               `json:"message"`
	Hint        state.Text               `json:"hint,omitempty"` // what the user can do
	ExitCode    int                      `json:"exit_code"`
	Diagnostics []diagnostics.Diagnostic `json:"diagnostics"` // of an invalid pipeline
}
