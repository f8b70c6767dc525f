package show

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// Lines prints lines, or otherwise, followed by a full stop, if there are none.
func Lines(w io.Writer, lines []string, otherwise string) error {
	if len(lines) == 0 {
		lines = []string{otherwise + "."}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, view.OneLine(line)); err != nil {
			return err
		}
	}
	return nil
}

// MessageLines describes the messages of a session, one per line.
func MessageLines(l *ledger.Ledgers) []string {
	return describeAll(l.Messages, func(m ledger.Message) []string {
		to := m.To
		if m.From != "" {
			to = strings.TrimSpace("from " + m.From + " " + prefixed("to ", to))
		}
		return []string{string(m.Status), to, string(m.Body), prefixed("response: ", string(m.Response))}
	})
}

// ConflictLines describes the conflicts of a session, one per line.
func ConflictLines(l *ledger.Ledgers) []string {
	return describeAll(l.Conflicts, func(c ledger.Conflict) []string {
		status := "not resolved, started " + day(c.StartedAt)
		if c.ResolvedAt != nil {
			status = "resolved " + day(*c.ResolvedAt)
		}
		return []string{status, "between " + strings.Join(c.Parties, " and "), string(c.Reason), string(c.State), prefixed("resolution: ", string(c.Resolution))}
	})
}

// KnowledgeLines describes the knowledge of a session, one entry per line.
func KnowledgeLines(l *ledger.Ledgers) []string {
	return describeAll(l.Knowledge, func(k ledger.Knowledge) []string {
		var parts []string
		if k.InjectedAt != nil {
			parts = append(parts, "injected "+day(*k.InjectedAt))
		}
		if k.CapturedAt != nil {
			parts = append(parts, "captured "+day(*k.CapturedAt))
		}
		if k.Pending {
			parts = append(parts, "to be captured")
		}
		return append(parts, prefixed("by ", k.From))
	})
}

// ValueLines lists the keys of a session's state, one per line.
func ValueLines(l *ledger.Ledgers) []string {
	lines := []string{}
	for _, key := range slices.Sorted(maps.Keys(l.Values)) {
		lines = append(lines, key+"="+string(l.Values[key].Value))
	}
	return lines
}

// describeAll returns a line for each entry, in the order of the ids.
func describeAll[V any](entries map[string]V, describe func(V) []string) []string {
	lines := []string{}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		parts := slices.DeleteFunc(describe(entries[id]), func(part string) bool { return part == "" })
		lines = append(lines, id+": "+strings.Join(parts, "; "))
	}
	return lines
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func day(at time.Time) string { return at.UTC().Format(time.DateTime) }

// noteLines counts the notes of a session.
func noteLines(n state.Notes) []string {
	var lines []string
	for _, c := range []struct {
		title string
		count int
	}{{"ESLint fixes", len(n.ESLintFixes)}, {"Key fixes", len(n.KeyFixes)}, {"Cleanups", len(n.CleanupDone)}} {
		if c.count > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", c.title, c.count))
		}
	}
	return lines
}

// reportedSection is a part of `checkpoint show` about agents and what workstreams
// reported.
type reportedSection struct {
	title string
	lines []string
}

// reportedSections returns the parts that have something to show.
func reportedSections(f *disk.CheckpointFile) []reportedSection {
	st := f.State
	all := []reportedSection{
		{"Issue", issueLines(f)}, {"Team", teamLines(f.Team)}, {"Agent outputs", agentOutputLines(f.AgentOutputs)},
		{"Notes", noteLines(st.Notes)}, {"Messages", MessageLines(&st.Ledgers)}, {"Conflicts", ConflictLines(&st.Ledgers)},
		{"Knowledge", KnowledgeLines(&st.Ledgers)}, {"State keys", ValueLines(&st.Ledgers)},
	}
	return slices.DeleteFunc(all, func(s reportedSection) bool { return len(s.lines) == 0 })
}
