package state

import "time"

// After a kill, commands record what they do before a run goes on: a checkpoint,
// an answer, the processes that were left behind. The time until then is no time
// of the run, so that its begin is moved by as much: what the run took is what
// is between its begin and its last event, whenever others come.

// passOver leaves the time before an event out of that of a run, where the
// event may not be of the run. Of one that goes on it leaves out too much, but
// that says itself what it took when it ends.
func (s *State) passOver(at time.Time, e Event) {
	if s.RunningAt == nil || onlyInRun(e) {
		return
	}
	began := s.RunningAt.Add(at.Sub(s.UpdatedAt))
	s.RunningAt = &began
}

// onlyInRun reports whether nothing but a run records such an event.
func onlyInRun(e Event) bool {
	switch e := e.(type) {
	case ProcessesEnded:
		return e.Workstream != "" // else they were left behind by an earlier run
	case CheckpointCreated, CheckpointsRemoved, CheckpointSkipped, CheckpointPinned, CheckpointUnpinned, CheckpointDamaged, CheckpointRebuilt,
		WorkspaceCaptured, RollbackStarted, RollbackCompleted, RollbackFailed,
		SessionAbandoned, SessionAdopted, ActsRemembered, HookEnded, PauseAsked, GateApproved, GateRejected, GateReviewed, WorkstreamResolved:
		return false
	}
	return true
}
