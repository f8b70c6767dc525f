package info

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
)

// MemberLines describes the agents of a session, one per line.
func MemberLines(t *state.Team) []string {
	if t == nil {
		return nil
	}
	lines := make([]string, len(t.Members))
	for i, m := range t.Members {
		parts := []string{string(m.Status), fmt.Sprintf("%d completed", m.TasksCompleted), fmt.Sprintf("%d pending", m.TasksPending)}
		if spent := m.Spent.String(); spent != "" {
			parts = append(parts, "spent "+spent)
		}
		lines[i] = fmt.Sprintf("%s: %s", titledAgent(m), strings.Join(parts, ", "))
	}
	return lines
}

// titledAgent returns the name of an agent with its role.
func titledAgent(m state.Member) string {
	if m.Role == "" {
		return m.Agent
	}
	return m.Agent + " (" + m.Role + ")"
}
