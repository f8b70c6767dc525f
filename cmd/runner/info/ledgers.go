package info

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// describeIssue describes an issue in one line.
func describeIssue(i *state.Issue) string {
	line := string(i.Title)
	if i.Number > 0 {
		line = strings.TrimSpace(fmt.Sprintf("#%d %s", i.Number, i.Title))
	}
	if i.StateLabel != "" {
		line += fmt.Sprintf(" (%s)", i.StateLabel)
	}
	return line
}

// LedgerReport is a ledger of a session, as `report message --json` and its kin print it.
type LedgerReport struct {
	FormatVersion string         `json:"format_version"`
	PRD           string         `json:"prd"`
	Entries       map[string]any `json:"entries"` // by id
}

// NewLedgerReport returns the JSON form of a ledger.
func NewLedgerReport[V any](prd string, entries map[string]V) LedgerReport {
	r := LedgerReport{FormatVersion: FormatVersion, PRD: prd, Entries: map[string]any{}}
	for id, e := range entries {
		r.Entries[id] = e
	}
	return r
}

// openMatters names what waits in the ledgers: conflicts that are not resolved, messages
// without a response, and captures that are due.
func openMatters(l *ledger.Ledgers) []string {
	var parts []string
	for _, m := range []struct {
		what string
		ids  []string
	}{
		{"conflicts not resolved", l.OpenConflicts()}, {"messages pending", l.MessagesWith(ledger.Pending)},
		{"messages awaiting a response", l.MessagesWith(ledger.Awaiting)}, {"knowledge to be captured", l.KnowledgeWith(ledger.Pending)},
	} {
		if len(m.ids) > 0 {
			parts = append(parts, m.what+": "+text.Enumerate(m.ids))
		}
	}
	return parts
}
