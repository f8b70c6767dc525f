package view

import (
	"io"
	"strings"

	"prdrunner/runner/plan"
)

// mostLines is how much of a difference is shown at once.
const mostLines = 40

// WriteConflicts shows edited artifacts, each with its difference.
func WriteConflicts(w io.Writer, conflicts []plan.Conflict, color bool) error {
	p := page{color: color}
	for i, c := range conflicts {
		if i == listed {
			p.printf("… and %d more\n", len(conflicts)-listed)
			break
		}
		p.printf("%s %s (%s) was edited: %s → %s\n", p.paint(yellow, "!"), c.Path, c.Workstream, ShortDigest(c.Recorded), found(c))
		writeDifference(&p, string(c.Difference))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// writeDifference shows a unified difference, indented.
func writeDifference(p *page, difference string) {
	if difference == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(difference, "\n"), "\n")
	for i, line := range lines {
		if i == mostLines {
			p.printf("    … and %d more lines\n", len(lines)-mostLines)
			return
		}
		line = OneLine(line)
		switch {
		case strings.HasPrefix(line, "+"):
			p.printf("    %s\n", p.paint(green, line))
		case strings.HasPrefix(line, "-"):
			p.printf("    %s\n", p.paint(red, line))
		default:
			p.printf("    %s\n", line)
		}
	}
}
