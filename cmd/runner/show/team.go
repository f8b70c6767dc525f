package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/info"
)

// teamLines describes the team of a checkpoint.
func teamLines(t *state.Team) []string {
	if t == nil {
		return nil
	}
	return append([]string{"Team: " + t.ID}, info.MemberLines(t)...)
}

// agentOutputLines describes the results of agents, one per line.
func agentOutputLines(outputs state.AgentOutputs) []string {
	var lines []string
	for _, agent := range slices.Sorted(maps.Keys(outputs)) {
		for _, ws := range slices.Sorted(maps.Keys(outputs[agent])) {
			o := outputs[agent][ws]
			parts := []string{"completed " + o.CompletedAt.UTC().Format(time.DateTime)}
			for _, part := range []state.Text{o.Summary, o.Location} {
				if part != "" {
					parts = append(parts, string(part))
				}
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s", agent, ws, strings.Join(parts, "; ")))
		}
	}
	return lines
}

// graphLines describes how far the current phase of a checkpoint is.
func graphLines(f *disk.CheckpointFile) []string {
	g := f.Graph
	if g.ID == "" { // only its record in the journal is left
		return nil
	}
	done := make([]string, len(g.CompletedBatches))
	for i, batch := range g.CompletedBatches {
		done[i] = fmt.Sprint(batch)
	}
	lines := []string{"Graph: " + g.ID, "Completed batches: " + text.Enumerate(done)}
	current := "none"
	if g.CurrentBatch > 0 {
		current = fmt.Sprint(g.CurrentBatch)
	}
	lines = append(lines, "Current batch: "+current)
	if f.PhaseStartedAt != nil {
		lines = append(lines, fmt.Sprintf("Phase started: %s, attempt %d", f.PhaseStartedAt.UTC().Format(time.DateTime), f.PhaseAttempt))
	}
	for _, name := range slices.Sorted(maps.Keys(g.NodeStates)) {
		n := g.NodeStates[name]
		line := fmt.Sprintf("%s: %s", name, n.Status)
		if n.CompletedAt != nil {
			line += " " + n.CompletedAt.UTC().Format(time.DateTime)
		}
		if n.Result != "" {
			line += ": " + string(n.Result)
		}
		lines = append(lines, line)
	}
	return lines
}
