package state

import "prdrunner/checkpoint/ledger"

// KindReportsReceived is the kind of ReportsReceived.
const KindReportsReceived Kind = "reports.received"

// ReportsReceived records what the processes of a workstream reported while they run, or
// what a user set in the state of the session.
type ReportsReceived struct {
	Workstream string           `json:"workstream,omitempty"`
	Attempt    int              `json:"attempt,omitempty"`
	By         *Actor           `json:"by,omitempty"`    // the user, if no workstream reported it
	Lines      int              `json:"lines,omitempty"` // how many lines of the attempt have been read, these included
	Reports    []ledger.Report  `json:"reports,omitempty"`
	Refused    []RefusedReports `json:"refused,omitempty"`
}

// RefusedReports are lines that were refused for the same reason, one after the other.
type RefusedReports struct {
	Line   int  `json:"line"`           // the first of them, 1-based
	More   int  `json:"more,omitempty"` // how many others follow it
	Reason Text `json:"reason"`
}

// Kind implements Event.
func (ReportsReceived) Kind() Kind { return KindReportsReceived }

// Source says where the reports come from.
func (e ReportsReceived) Source() ledger.Source {
	if e.By != nil {
		return ledger.Source{User: e.By.User}
	}
	return ledger.Source{Workstream: e.Workstream}
}
