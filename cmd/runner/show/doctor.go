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
func Doctor(w io.Writer, findings []Finding, color bool) error {
	var b strings.Builder
	const indent = "           "
	for _, f := range findings {
		detail := strings.ReplaceAll(view.Clean(f.Detail), "\n", "\n"+indent)
		fmt.Fprintf(&b, "%s %s: %s\n", paintLevel(f.Level, color), view.OneLine(f.Check), detail)
		if f.Next != "" {
			fmt.Fprintf(&b, "%s→ %s\n", indent, view.OneLine(f.Next))
		}
	}
	problems, warnings := count(findings, Problem), count(findings, Warning)
	if problems+warnings == 0 {
		b.WriteString("\nNothing is wrong.\n")
	} else {
		fmt.Fprintf(&b, "\n%s, %s.\n", view.Plural(problems, "problem"), view.Plural(warnings, "warning"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// paintLevel returns the word for a level, in a column of its own.
func paintLevel(level Level, color bool) string {
	word, code := "ok", "32"
	switch level {
	case OK:
	case Warning:
		word, code = "warning", "33"
	case Problem:
		word, code = "problem", "31"
	case NotChecked:
		word, code = "unchecked", "2"
	}
	padded := fmt.Sprintf("%-10s", word)
	if !color {
		return padded
	}
	return "\x1b[" + code + "m" + padded + "\x1b[0m"
}
