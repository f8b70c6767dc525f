package info

import (
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
