package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// Level is how serious a finding of `runner doctor` is.
type Level string

// The levels.
const (
	OK         Level = "ok"
	Warning    Level = "warning" // Runner works, and something should be known or done
	Problem    Level = "problem" // something fails, or will
	NotChecked Level = "not_checked"
)

// Finding is what a check of `runner doctor` found out.
type Finding struct {
	Check  string
	Level  Level
	Detail string
	Next   string // what to do, "" if there is nothing
}

// DoctorReport is what `runner doctor --json` prints.
type DoctorReport struct {
	FormatVersion string    `json:"format_version"`
	Problems      int       `json:"problems"`
	Warnings      int       `json:"warnings"`
	Checks        []checked `json:"checks"`
}

type checked struct {
	Name   state.Text `json:"name"`
	Level  Level      `json:"level"`
	Detail state.Text `json:"detail"`
	Next   state.Text `json:"next,omitempty"`
}

// NewDoctorReport returns the JSON form of findings.
func NewDoctorReport(findings []Finding) DoctorReport {
	r := DoctorReport{FormatVersion: FormatVersion, Problems: count(findings, Problem), Warnings: count(findings, Warning), Checks: []checked{}}
	for _, f := range findings {
		r.Checks = append(r.Checks, checked{state.Text(f.Check), f.Level, state.Text(f.Detail), state.Text(f.Next)})
	}
	return r
}

func count(findings []Finding, level Level) int {
	n := 0
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Doctor prints findings, a line for each and another one for what to do about it.
func Doctor(w io.Writer, findings []Finding) error {
	p := newPage(w)
	const indent = "           "
	for _, f := range findings {
		word, style := f.Level.word()
		first, more, _ := strings.Cut(f.Detail, "\n")
		p.Printf("%s %s: %s\n", p.Paint(style, fmt.Sprintf("%-10s", word)), f.Check, first)
		for line := range strings.Lines(more) {
			p.Printf(indent+"%s\n", line)
		}
		if f.Next != "" {
			p.Printf(indent+"→ %s\n", f.Next)
		}
	}
	problems, warnings := count(findings, Problem), count(findings, Warning)
	if problems+warnings == 0 {
		p.Printf("\nNothing is wrong.\n")
	} else {
		p.Printf("\n%s, %s.\n", view.Plural(problems, "problem"), view.Plural(warnings, "warning"))
	}
	return p.end()
}

// word returns the word for a level and its style.
func (l Level) word() (string, view.Style) {
	switch l {
	case OK:
	case Warning:
		return "warning", view.Yellow
	case Problem:
		return "problem", view.Red
	case NotChecked:
		return "unchecked", view.Dim
	}
	return "ok", view.Green
}
