package runner

import (
	"testing"

	"prdrunner/pipeline"
)

// TestUnresolvedError: what lacks a sensitive output that the plan did not know to be
// needed says what to type.
func TestUnresolvedError(t *testing.T) {
	t.Parallel()
	l := &loop{opts: Options{Pipeline: &pipeline.Pipeline{ID: "PRD-001"}}.withDefaults()}
	for name, want := range map[string]string{
		"secret.token": "it was not started: secret.token is not resolved",
		"workstream.login.outputs.token": "it was not started: the sensitive output token of login is not stored, and login has not run in this run; " +
			"`runner build PRD-001 --resume --invalidate login` runs it again",
	} {
		if got := l.unresolvedError(name).Error(); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
