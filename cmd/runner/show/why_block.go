package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// WhyBlock shows what is done with the instances of a workstream, a line for each group.
func WhyBlock(w io.Writer, cmdline advice.CommandLine, r info.WhyBlockReport, next []advice.Suggestion) error {
	p := newPage(w)
	all := 0
	rows := make([][]view.Cell, len(r.Groups))
	for i, g := range r.Groups {
		all += len(g.Instances)
		rows[i] = []view.Cell{{Text: someNames(g.Instances) + ":", Style: view.Bold}, {Text: g.Says()}}
	}
	p.title("", r.Name+": "+view.Plural(all, "instance"))
	p.Table("  ", rows)
	p.heading("Next")
	p.commands(cmdline, next...)
	return p.end()
}

// someNames returns the first names, and how many more there are.
func someNames(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
