package sink

import (
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

const resultOpening = "status="

// writeResult writes the result of the run as NAME=value lines, each value in one line:
// the form of GITHUB_OUTPUT and of dotenv files.
func writeResult(w io.Writer, a *account, _ Options) error {
	status := string(a.ending.Status)
	if a.ending.Signal != "" {
		status = "interrupted"
	}
	var b strings.Builder
	for _, v := range [][2]string{
		{"status", status}, {"session", a.Session}, {"checkpoint", a.checkpoint}, {"paused_at", strings.Join(pausedAt(a.ending.Pause), ", ")},
	} {
		b.WriteString(v[0] + "=" + view.OneLine(v[1]) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
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
