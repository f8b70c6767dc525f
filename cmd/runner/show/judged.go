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
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// JudgedFacts shows in a few lines what a person judges.
func JudgedFacts(w io.Writer, j *info.Judged) error {
	p := newPage(w)
	p.facts(j.Facts()...)
	return p.end()
}

// JudgedDetailsOptions are what the details of a question need besides the session.
type JudgedDetailsOptions struct {
	Now time.Time
	// HasLog reports whether there is a log of a workstream, or of a gate by its label.
	HasLog func(name string) bool
}

// JudgedDetails shows all that is on record of the work that a gate judges, who may answer and until
// when, and the commands that show more.
func JudgedDetails(w io.Writer, cmdline advice.CommandLine, st *state.State, g *state.Gate, j *info.Judged, o JudgedDetailsOptions) error {
	p := newPage(w)
	p.title("", "What "+g.Label+" judges")
	p.facts(append(j.Facts(), fact("Approvers", approversOf(g)), fact("Until", untilOf(g, o.Now)))...)
	ws, phase := g.Owner()
	judged := []*state.Workstream{ws}
	if ws == nil {
		judged = info.InOrder(phase.Workstreams)
	}
	p.heading("Workstreams")
	for i, w := range judged {
		if i == info.MostJudged {
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
	p.Printf("  %s  %s\n", p.Paint(view.Bold, view.Named(w.Name, w.Title)), p.Paint(info.StyleOf(w), info.StatusOf(w)))
	var artifacts, outputs []string
	for _, a := range w.Artifacts {
		artifacts = append(artifacts, fmt.Sprintf("%s (%s)", a.Path, info.Size(a.Size)))
	}
	made := info.OutputsOf(st, w)
	for _, name := range made.Names() {
		if value, has := made.Outputs[name]; has {
			outputs = append(outputs, name+" = "+shortened(value.Shown()))
		}
	}
	for _, f := range []info.Fact{
		fact("artifacts", strings.Join(info.FirstOf(artifacts), ", ")), fact("outputs", strings.Join(info.FirstOf(outputs), ", ")),
		fact("summary", shortened(string(w.Summary))), fact("location", string(w.Location)),
	} {
		if f.Value != "" {
			p.Printf("    %s: %s\n", f.Name, f.Value)
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

func judgedCommands(st *state.State, g *state.Gate, j *info.Judged, judged []*state.Workstream, o JudgedDetailsOptions) []advice.Suggestion {
	var list []advice.Suggestion
	if j.Files.Checkpoint != "" {
		list = append(list, advice.Suggestion{Command: info.DifferenceCommand(st.PRD, j.Files.Checkpoint), Purpose: "the whole difference"})
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
		if logs++; logs > info.MostJudged {
			list = append(list, advice.Suggestion{Command: "logs " + st.PRD, Purpose: "what all of them printed"})
			break
		}
		list = append(list, advice.Suggestion{Command: "logs " + st.PRD + " " + text.ShellWord(name), Purpose: "what " + name + " printed"})
	}
	return append(list,
		advice.Suggestion{Command: "outputs " + st.PRD, Purpose: "outputs and metrics"},
		advice.Suggestion{Command: info.ApproveCommand(st.PRD, g.Label, g.Asks), Purpose: "approves"},
		advice.Suggestion{Command: info.RejectCommand(st.PRD, g.Label), Purpose: "rejects"})
}

// JudgedDifference shows the differences of files. It cuts them after a number of rows; 0 is no limit.
func JudgedDifference(w io.Writer, c *compare.Comparison, since info.FilesSince, rows int) error {
	p := newPage(w)
	p.Printf("%s\n", since.String())
	for _, line := range info.ChangeLines(c.Files) {
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
