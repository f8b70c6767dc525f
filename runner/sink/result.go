package sink

import (
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

const (
	resultOpening  = "status="
	exportsOpening = "export " + exportPrefix
)

// exportPrefix is before the names of the variables that a shell gets.
const exportPrefix = "RUNNER_RESULT_"

// writeResult writes the result of the run as NAME=value lines, each value in one line:
// the form of GITHUB_OUTPUT and of dotenv files.
func writeResult(w io.Writer, a *account, _ Options) error {
	var b strings.Builder
	for _, v := range result(a) {
		b.WriteString(v.name + "=" + v.value + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeExports writes the result of the run as commands that set variables of a shell:
// RUNNER_RESULT_STATUS and so on. Nothing in a value means anything to the shell.
func writeExports(w io.Writer, a *account, _ Options) error {
	var b strings.Builder
	for _, v := range result(a) {
		b.WriteString("export " + exportPrefix + strings.ToUpper(v.name) + "='" + strings.ReplaceAll(v.value, "'", `'\''`) + "'\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// field is a part of the result, with its value in one line.
type field struct{ name, value string }

func result(a *account) []field {
	status := string(a.ending.Status)
	if a.ending.Signal != "" {
		status = "interrupted"
	}
	fields := []field{{"status", status}, {"session", a.Session}, {"checkpoint", a.checkpoint}, {"paused_at", strings.Join(pausedAt(a.ending.Pause), ", ")}}
	for i := range fields {
		fields[i].value = view.OneLine(fields[i].value)
	}
	return fields
}

// pausedAt returns what a paused session waits at: gates, workstreams, and called pipelines.
func pausedAt(p *state.Pause) []string {
	if p == nil {
		return nil
	}
	at := slices.Concat(p.Gates, p.Steps)
	for _, call := range p.Calls {
		at = append(at, call.PRD)
	}
	return at
}
