package checkpoint_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestAnAdoptionLeavesNoHookDue: TakeOver of a complete session must drop the pending
// hooks and pause the session, because no run on this machine had this result.
func TestAnAdoptionLeavesNoHookDue(t *testing.T) {
	t.Parallel()
	s := &state.State{Status: state.StatusComplete, Hooks: &state.Hooks{Event: "complete", Hooks: 1}}
	s.TakeOver(7)
	if s.Hooks != nil || s.Status != state.StatusPaused || s.AdoptedSeq != 7 {
		t.Errorf("hooks %+v, status %s, adopted at %d", s.Hooks, s.Status, s.AdoptedSeq)
	}
}

// TestRememberedActsTakeDecisionsBack: RememberActs must revoke a decision to run a
// workstream again, and a failure before the start, if another session has run the
// workstream: both were made without knowing that.
func TestRememberedActsTakeDecisionsBack(t *testing.T) {
	t.Parallel()
	s := &state.State{Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{
		{Name: "decided", Once: true, Status: state.Pending, Repeat: true},
		{Name: "failed", Once: true, Status: state.Failed},
		{Name: "other", Once: true, Status: state.Pending, Repeat: true},
	}}}}
	s.RememberActs([]state.Act{{Workstream: "decided"}, {Workstream: "failed"}, {Workstream: "gone"}})
	for name, repeat := range map[string]bool{"decided": false, "failed": false, "other": true} {
		if w := s.Workstream(name); w.Status != state.Pending || w.Repeat != repeat {
			t.Errorf("%s is %s, to be repeated: %t", name, w.Status, w.Repeat)
		}
	}
	if len(s.Acts) != 3 {
		t.Errorf("the state has %d acts, want 3", len(s.Acts))
	}
}
