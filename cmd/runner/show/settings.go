package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"prdrunner/cmd/runner/config"
)

// Settings shows a table of settings, each with a note.
func Settings(w io.Writer, settings []config.Setting, note func(config.Setting) string) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, s := range settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key, showValue(s.Value), note(s))
	}
	return table.Flush()
}

func showValue(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
