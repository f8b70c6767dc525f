package info

import (
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
	r := DoctorReport{FormatVersion: FormatVersion, Problems: CountOf(findings, Problem), Warnings: CountOf(findings, Warning), Checks: []checked{}}
	for _, f := range findings {
		r.Checks = append(r.Checks, checked{state.Text(f.Check), f.Level, state.Text(f.Detail), state.Text(f.Next)})
	}
	return r
}

// CountOf returns how many findings have a level.
func CountOf(findings []Finding, level Level) int {
	n := 0
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Word returns the word for a level and its style.
func (l Level) Word() (string, view.Style) {
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
