package state

import (
	"regexp"
	"strings"
	"testing"
)

func TestCalledID(t *testing.T) {
	t.Parallel()
	key := func(s string) *string { return &s }
	seen := map[string]string{}
	pattern := regexp.MustCompile(`^PRD-009` + CalledIDPattern + `$`)
	for _, test := range []struct {
		block string
		key   *string
		want  string
	}{
		{"etl", nil, "PRD-009.etl"},
		{"load_data", nil, "PRD-009.load_data"},
		{"etl", key("eu-west"), "PRD-009.etl.eu-west"},
		{"etl", key("a.b c"), "PRD-009.etl.a_2Eb_20c"},
		{"etl", key("a_2Eb_20c"), "PRD-009.etl.a_5F2Eb_5F20c"},
		{"etl", key(""), "PRD-009.etl._"},
		{"etl", key("_"), "PRD-009.etl._5F"},
		{"json", nil, "PRD-009._6Ason"},
		{"hcl", nil, "PRD-009._68cl"},
		{"Lock", nil, "PRD-009._4Cock"},
		{"übung", nil, "PRD-009._C3_BCbung"},
		{strings.Repeat("x", 150), nil, "PRD-009." + strings.Repeat("x", 79) + "-"},
		{strings.Repeat("x", 150), key("y"), "PRD-009." + strings.Repeat("x", 79) + "-"},
	} {
		got := CalledID("PRD-009", test.block, test.key)
		if got != test.want && (len(got) != maxCalledID || !strings.HasPrefix(got, test.want)) {
			t.Errorf("%s: %s, want %s", test.block, got, test.want)
		}
		if !pattern.MatchString(got) || seen[got] != "" {
			t.Errorf("%s: %s does not match %s, or is that of %s", test.block, got, pattern, seen[got])
		}
		seen[got] = test.block
	}
}

// TestRollbackForgetsCalls: a called pipeline has gone on since the checkpoint to which a
// rollback goes, so that its next attempt must begin a new session.
func TestRollbackForgetsCalls(t *testing.T) {
	t.Parallel()
	called := func() *State {
		return &State{Checkpoints: []*CheckpointRef{}, Phases: []*Phase{{Name: "p", Workstreams: []*Workstream{{Name: "etl", Status: Running, Attempts: 1, Call: "one"}}}}}
	}
	now := called()
	now.GoTo(RollbackRecord{}, RollbackStarted{}, called())
	if w := now.Workstream("etl"); w.Call != "" || w.Status != Interrupted {
		t.Errorf("after a rollback: %+v", w)
	}
}
