package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/config"
)

// SettingsReport is what `runner config --json` prints.
type SettingsReport struct {
	FormatVersion string           `json:"format_version"`
	Settings      []config.Setting `json:"settings"`
}

// NewSettingsReport returns the JSON form of settings.
func NewSettingsReport(settings []config.Setting) SettingsReport {
	out := SettingsReport{FormatVersion: FormatVersion}
	for _, s := range settings {
		switch v := s.Value.(type) {
		case time.Duration:
			s.Value = v.String()
		case string:
			s.Value = state.Text(v)
		case []string:
			s.Value = state.Texts(v)
		}
		out.Settings = append(out.Settings, s)
	}
	return out
}

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
