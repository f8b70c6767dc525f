package info

import (
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// Evidence says what the verdict of a gate rests on: the value of a metric, who answered, or why it failed. It is ""
// for a command that has passed: that its exit code was 0 is all there is.
func Evidence(g *state.Gate) string {
	var parts []string
	if g.Value != nil {
		parts = append(parts, "value "+ShownValue(g.Value))
	}
	if g.Message != "" {
		parts = append(parts, view.OneLine(string(g.Message)))
	}
	if g.By != nil {
		answer := "by " + g.By.User
		if g.At != nil {
			answer += " on " + g.At.UTC().Format(time.DateTime)
		}
		parts = append(parts, answer)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Inputs)) {
		parts = append(parts, name+" = "+view.OneLine(string(g.Inputs[name])))
	}
	if g.Comment != "" {
		parts = append(parts, view.OneLine(string(g.Comment)))
	}
	if g.Error != nil && g.Status != state.Passed {
		parts = append(parts, view.OneLine(string(g.Error.Message)))
	}
	if g.Reason != "" {
		parts = append(parts, view.OneLine(string(g.Reason)))
	}
	if g.Session != "" {
		parts = append(parts, "from session "+state.ShortSession(g.Session))
	}
	return strings.Join(parts, "; ")
}
