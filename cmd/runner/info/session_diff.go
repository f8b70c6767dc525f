package info

import (
	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
)

// SessionDiffReport is the differences between two sessions, as `diff --json` prints it.
type SessionDiffReport struct {
	FormatVersion string         `json:"format_version"`
	PRD           string         `json:"prd"`
	From          HistorySession `json:"from"`
	To            HistorySession `json:"to"`
	Same          bool           `json:"same"` // apart from durations
	compare.SessionComparison
	Durations []DurationChange `json:"durations"` // of what both sessions ran
}

// DurationChange is how long a phase or a workstream took in two sessions.
type DurationChange struct {
	Kind    history.Kind `json:"kind"`
	Name    string       `json:"name"`
	FromMS  int64        `json:"from_ms"`
	ToMS    int64        `json:"to_ms"`
	Differs bool         `json:"differs"` // by more than always varies
}

// NewSessionDiffReport compares two sessions of a history.
func NewSessionDiffReport(h HistoryReport, from, to HistorySession, a, b *state.State) SessionDiffReport {
	c := compare.Sessions(a, b)
	r := SessionDiffReport{FormatVersion: FormatVersion, PRD: h.PRD, From: from, To: to, Same: c.Same(), SessionComparison: c, Durations: []DurationChange{}}
	for _, t := range to.Durations {
		for _, f := range from.Durations {
			if f.Kind == t.Kind && f.Name == t.Name {
				r.Durations = append(r.Durations, DurationChange{t.Kind, t.Name, f.TookMS, t.TookMS, history.Differs(milliseconds(f.TookMS), milliseconds(t.TookMS))})
			}
		}
	}
	return r
}
