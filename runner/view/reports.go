package view

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
)

// printReports prints what a workstream reported. Only a verbose view shows everything;
// conflicts and lines that were refused are always shown.
func (v *plain) printReports(e state.ReportsReceived) {
	for _, r := range e.Reports {
		switch {
		case r.Type == ledger.TypeConflict && r.Status == ledger.Start:
			v.printAttention(fmt.Sprintf("conflict %s between %s", r.ID, strings.Join(r.Parties, " and ")), string(r.Reason))
		case r.Type == ledger.TypeConflict:
			v.printDone("  ", fmt.Sprintf("conflict %s resolved", r.ID), "", string(r.Reason))
		case v.verbose:
			v.printNeutral("  ", e.Workstream+" reports "+describeReport(r))
		}
	}
	for _, r := range e.Refused {
		lines := fmt.Sprintf("line %d of its reports", r.Line)
		if r.More > 0 {
			lines = fmt.Sprintf("lines %d to %d of its reports", r.Line, r.Line+r.More)
		}
		v.printAttention(v.titled(e.Workstream)+": "+lines+" refused", string(r.Reason))
	}
}

// describeReport returns a report as text for people.
func describeReport(r ledger.Report) string {
	switch r.Type {
	case ledger.TypeNote:
		return strings.TrimSpace(fmt.Sprintf("%s %s: %s", r.Kind, r.File, r.Change))
	case ledger.TypeMessage:
		return fmt.Sprintf("the message %s to %s: %s", r.ID, r.To, r.Body)
	case ledger.TypeKnowledge:
		return fmt.Sprintf("the knowledge %s as %s", r.ID, r.Status)
	case ledger.TypeMetric:
		return fmt.Sprintf("the metric %s: %v", r.Name, r.Value)
	case ledger.TypeOutput:
		return fmt.Sprintf("the output %s: %v", r.Name, r.Value)
	case ledger.TypeState:
		if r.Unset {
			return fmt.Sprintf("that %s is unset", r.Key)
		}
		return fmt.Sprintf("%s=%v", r.Key, r.Value)
	case ledger.TypeConflict, ledger.TypeCheckpoint:
	}
	return string(r.Type)
}
