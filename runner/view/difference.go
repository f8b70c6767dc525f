package view

import (
	"io"
	"strings"

	"prdrunner/runner/plan"
)

// maxDiffLines is the number of lines that are shown of a difference.
const maxDiffLines = 40

// WriteConflicts prints edited artifacts, each with its difference, on a page, and writes it.
func WriteConflicts(w io.Writer, conflicts []plan.Conflict, p *Page) error {
	for i, c := range conflicts {
		if i == maxListed {
			p.Printf("… and %d more\n", len(conflicts)-maxListed)
			break
		}
		p.Printf("%s %s (%s) was edited: %s → %s\n", p.Paint(Yellow, "!"), c.Path, c.Workstream, ShortDigest(c.Recorded), conflictSummary(c))
		writeDifference(p, string(c.Difference))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// WriteStale prints what changed outside the steps, with its difference, on a page, and writes it.
func WriteStale(w io.Writer, s plan.Stale, p *Page) error {
	writeStale(p, s)
	_, err := w.Write(p.Bytes())
	return err
}

func writeStale(p *Page, s plan.Stale) {
	what := OneLine(strings.TrimSpace(s.What + " " + string(s.Path)))
	switch {
	case s.Gone:
		p.Printf("%s The %s, on which the session last ran, no longer exists\n", p.Paint(Yellow, "!"), what)
	case s.Problem != "":
		p.Printf("%s The %s is not known: %s\n", p.Paint(Yellow, "!"), what, OneLine(string(s.Problem)))
	default:
		p.Printf("%s The %s changed: %s → %s\n", p.Paint(Yellow, "!"), what, ShortDigest(s.Old), ShortDigest(s.New))
		writeDifference(p, string(s.Difference))
	}
}

// writeDifference prints a unified difference, indented.
func writeDifference(p *Page, difference string) {
	if difference == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(difference, "\n"), "\n")
	for i, line := range lines {
		if i == maxDiffLines {
			p.Printf("    … and %d more lines\n", len(lines)-maxDiffLines)
			return
		}
		line = OneLine(line)
		switch {
		case strings.HasPrefix(line, "+"):
			p.Printf("    %s\n", p.Paint(Green, line))
		case strings.HasPrefix(line, "-"):
			p.Printf("    %s\n", p.Paint(Red, line))
		default:
			p.Printf("    %s\n", line)
		}
	}
}
