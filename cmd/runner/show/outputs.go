package show

import (
	"fmt"
	"io"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Outputs shows the outputs of workstreams: the name of each, and below it names and values.
func Outputs(w io.Writer, r info.OutputsReport) error {
	var b strings.Builder
	for i, o := range r.Workstreams {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", view.OneLine(o.Name))
		width := 0
		for _, name := range o.Names() {
			width = max(width, len(name))
		}
		for _, name := range o.Names() {
			v, _ := o.Value(name)
			writeOutput(&b, fmt.Sprintf("  %-*s  ", width, view.OneLine(name)), v)
		}
		for _, more := range []struct {
			name string
			text state.Text
		}{{"summary", o.Summary}, {"location", o.Location}} {
			if more.text != "" {
				fmt.Fprintf(&b, "  (%s: %s)\n", more.name, view.OneLine(string(more.text)))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOutput writes a value after its name. Further lines of it are below the first.
func writeOutput(b *strings.Builder, name string, v info.OutputValue) {
	text := v.String()
	switch {
	case v.Sensitive:
		text = "(sensitive, not stored)"
	case text == "":
		text = `""`
	}
	for i, line := range strings.Split(view.Clean(text), "\n") {
		if i > 0 {
			name = strings.Repeat(" ", len(name))
		}
		b.WriteString(strings.TrimRight(name+line, " ") + "\n")
	}
}
