package view

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
)

// printProtection prints an event of a protected workstream.
func (v *plain) printProtection(e state.Event) {
	switch e := e.(type) {
	case state.ProtectionMade:
		if v.verbose {
			v.printNeutral("  ", v.titled(e.Workstream)+" is protected", Plural(e.Files, "file")+" in "+e.Checkpoint)
		}
	case state.ProtectionRolledBack:
		v.printAttention(DescribeRollback(e))
	case state.ProtectionCommitted:
		if v.verbose {
			v.printNeutral("  ", v.titled(e.Workstream)+" keeps its changes", "they are no longer rolled back")
		}
	case state.ProtectionKept:
		v.printAttention(e.Workstream+" keeps what it changed", string(e.Reason), "runner safety restore "+e.Checkpoint+" takes it back")
	case state.ScopeExceeded:
		paths := make([]string, len(e.Paths), len(e.Paths)+1)
		for i, path := range e.Paths {
			paths[i] = OneLine(string(path))
		}
		if e.More > 0 {
			paths = append(paths, fmt.Sprintf("%d more", e.More))
		}
		v.printAttention("changed outside the scope of "+e.Workstream+" while it ran", strings.Join(paths, ", "))
	}
}

// DescribeRollback says what was rolled back, and from what.
func DescribeRollback(e state.ProtectionRolledBack) (what, details string) {
	var parts []string
	if e.Written > 0 {
		parts = append(parts, Plural(e.Written, "file")+" restored")
	}
	if e.Deleted > 0 {
		parts = append(parts, removedFiles(e))
	}
	if n := len(e.Savepoints); n > 0 {
		parts = append(parts, "restored "+strings.Join(e.Savepoints, ", "))
	}
	if n := len(e.Keys); n > 0 {
		parts = append(parts, Plural(n, "key")+" set again")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing had changed")
	}
	if e.Left != "" {
		parts = append(parts, "what it left is in "+e.Left)
	}
	return "rolled back " + e.Workstream, strings.Join(parts, ", ")
}

// removedFiles counts the files that a rollback removed, and names the first of them.
func removedFiles(e state.ProtectionRolledBack) string {
	const most = 3
	var names []string
	for _, path := range e.Removed[:min(len(e.Removed), most)] {
		names = append(names, OneLine(string(path)))
	}
	if more := e.Deleted - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return Plural(e.Deleted, "file") + " removed (" + strings.Join(names, ", ") + ")"
}
