package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Doctor prints findings, a line for each and another one for what to do about it.
func Doctor(w io.Writer, findings []info.Finding) error {
	p := newPage(w)
	const indent = "           "
	for _, f := range findings {
		word, style := f.Level.Word()
		first, more, _ := strings.Cut(f.Detail, "\n")
		p.Printf("%s %s: %s\n", p.Paint(style, fmt.Sprintf("%-10s", word)), f.Check, first)
		for line := range strings.Lines(more) {
			p.Printf(indent+"%s\n", line)
		}
		if f.Next != "" {
			p.Printf(indent+"→ %s\n", f.Next)
		}
	}
	problems, warnings := info.CountOf(findings, info.Problem), info.CountOf(findings, info.Warning)
	if problems+warnings == 0 {
		p.Printf("\nNothing is wrong.\n")
	} else {
		p.Printf("\n%s, %s.\n", view.Plural(problems, "problem"), view.Plural(warnings, "warning"))
	}
	return p.end()
}
