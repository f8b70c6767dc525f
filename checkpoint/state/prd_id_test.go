package state_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

func TestIDRule(t *testing.T) {
	t.Parallel()
	const inWords = "be PRD- and three digits or more, such as PRD-009"
	for pattern, want := range map[string]string{
		state.DefaultIDPattern: inWords,
		state.DefaultIDPattern + "(?:" + state.CalledIDPattern + ")?":            inWords,
		"^(?:" + state.DefaultIDPattern + ")(?:" + state.CalledIDPattern + ")?$": inWords,
		`PRD-\d{4,}`: `match PRD-\d{4,}`,
		"PRD-009":    "match PRD-009",
	} {
		if got := state.IDRule(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}
