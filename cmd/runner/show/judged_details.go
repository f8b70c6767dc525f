package show

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// JudgedDetailsOptions are what the details of a question need besides the session.
type JudgedDetailsOptions struct {
	Now time.Time
	// HasLog reports whether there is a log of a workstream, or of a gate by its label.
	HasLog func(name string) bool
}

// JudgedDetails shows all that is on record of the work that a gate judges, who may answer and until
// when, and the commands that show more.
func JudgedDetails(w io.Writer, cmdline advice.CommandLine, st *state.State, g *state.Gate, j *Judged, o JudgedDetailsOptions) error {
	p := newPage(w)
	p.title("", "What "+g.Label+" judges")
	p.facts(append(j.facts(), fact{"Approvers", approversOf(g), view.None}, fact{"Until", untilOf(g, o.Now), view.None})...)
	ws, phase := g.Owner()
	judged := []*state.Workstream{ws}
	if ws == nil {
		judged = view.InNaturalOrder(phase.Workstreams, workstreamName)
	}
	p.heading("Workstreams")
	for i, w := range judged {
		if i == mostJudged {
			p.Printf("  … and %d more\n", len(judged)-i)
			break
		}
		writeJudgedWork(p, st, w)
	}
	p.heading("Commands")
	p.commands(cmdline, judgedCommands(st, g, j, judged, o)...)
	return p.end()
}

func approversOf(g *state.Gate) string {
	if len(g.Approvers) == 0 {
		return "anyone"
	}
	return strings.Join(g.Approvers, " or ")
}

func untilOf(g *state.Gate, now time.Time) string {
	if g.ExpiresAt == nil {
		return "no limit"
	}
	return fmt.Sprintf("%s (for %s more)", g.ExpiresAt.UTC().Format(time.DateTime), view.Duration(g.ExpiresAt.Sub(now)))
}

// writeJudgedWork shows the artifacts, outputs and summary of a workstream.
func writeJudgedWork(p *page, st *state.State, w *state.Workstream) {
	p.Printf("  %s  %s\n", p.Paint(view.Bold, view.Named(w.Name, w.Title)), p.Paint(styleOf(w), statusOf(w)))
	var artifacts, outputs []string
	for _, a := range w.Artifacts {
		artifacts = append(artifacts, fmt.Sprintf("%s (%s)", a.Path, Size(a.Size)))
	}
	made := outputsOf(st, w)
	for _, name := range made.Names() {
		if value, has := made.Outputs[name]; has {
			outputs = append(outputs, name+" = "+shortened(value.shown()))
		}
	}
	for _, f := range []fact{
		{"artifacts", strings.Join(firstOf(artifacts), ", "), view.None}, {"outputs", strings.Join(firstOf(outputs), ", "), view.None},
		{"summary", shortened(string(w.Summary)), view.None}, {"location", string(w.Location), view.None},
	} {
		if f.value != "" {
			p.Printf("    %s: %s\n", f.name, f.value)
		}
	}
}

// shortened cuts a long text.
func shortened(value string) string {
	const most = 160
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

func judgedCommands(st *state.State, g *state.Gate, j *Judged, judged []*state.Workstream, o JudgedDetailsOptions) []advice.Suggestion {
	var list []advice.Suggestion
	if j.Files.Checkpoint != "" {
		list = append(list, advice.Suggestion{Command: DifferenceCommand(st.PRD, j.Files.Checkpoint), Purpose: "the whole difference"})
	}
	var names []string
	for _, w := range judged {
		names = append(names, w.Name)
	}
	for _, other := range j.Gates {
		names = append(names, other.Gate)
	}
	logs := 0
	for _, name := range names {
		if !o.HasLog(name) {
			continue
		}
		if logs++; logs > mostJudged {
			list = append(list, advice.Suggestion{Command: "logs " + st.PRD, Purpose: "what all of them printed"})
			break
		}
		list = append(list, advice.Suggestion{Command: "logs " + st.PRD + " " + text.ShellWord(name), Purpose: "what " + name + " printed"})
	}
	return append(list,
		advice.Suggestion{Command: "outputs " + st.PRD, Purpose: "outputs and metrics"},
		advice.Suggestion{Command: ApproveCommand(st.PRD, g.Label, g.Asks), Purpose: "approves"},
		advice.Suggestion{Command: RejectCommand(st.PRD, g.Label), Purpose: "rejects"})
}

// DifferenceCommand returns the command that compares the workspace with a checkpoint.
func DifferenceCommand(prd, checkpoint string) string {
	return "checkpoint diff " + prd + " " + checkpoint + " " + compare.PointWorkspace + " --files"
}

// ApproveCommand returns the command that approves a gate.
func ApproveCommand(prd, gate string, asked []state.AskedInput) string {
	return "approve " + prd + " " + text.ShellWord(gate) + advice.InputFlags(asked)
}

// RejectCommand returns the command that rejects a gate.
func RejectCommand(prd, gate string) string {
	return "reject " + prd + " " + text.ShellWord(gate) + " -m REASON"
}

// JudgedDifference shows the differences of files. It cuts them after a number of rows; 0 is no limit.
func JudgedDifference(w io.Writer, c *compare.Comparison, since FilesSince, rows int) error {
	p := newPage(w)
	p.Printf("%s\n", since.String())
	for _, line := range changeLines(c.Files) {
		p.Printf("%s\n", p.Paint(styleOfChange(line), line))
	}
	writeTexts(p, c)
	cutRows(p, rows, string(since.Difference))
	return p.end()
}

// cutRows leaves the first rows of a page, and names the command that shows all.
func cutRows(p *page, rows int, command string) {
	lines := bytes.SplitAfter(bytes.TrimSuffix(p.Bytes(), []byte("\n")), []byte("\n"))
	if rows <= 0 || len(lines) <= rows {
		return
	}
	kept := bytes.Join(lines[:max(1, rows-1)], nil)
	p.Truncate(len(kept))
	p.Printf("… and %s more: `%s`\n", view.Plural(len(lines)-max(1, rows-1), "line"), command)
}
