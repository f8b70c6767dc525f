package state

import "time"

// After a kill, other commands may record events before a run resumes: a checkpoint, an
// answer, processes that were still running. The time until such an event is not running
// time. RunningAt is moved forward by it, so that the time from RunningAt to the run's last
// event is the running time.

// passOver excludes the time before an event from the running time, when commands other
// than a run may record the event. If a run recorded it after all, too much is excluded;
// the event that ends a run corrects that, since it carries the run's own measure.
func (s *State) passOver(at time.Time, e Event) {
	if s.RunningAt == nil || onlyInRun(e) {
		return
	}
	began := s.RunningAt.Add(at.Sub(s.UpdatedAt))
	s.RunningAt = &began
}

// onlyInRun reports whether only a run records such an event.
func onlyInRun(e Event) bool {
	switch e := e.(type) {
	case ProcessesEnded:
		return e.Workstream != "" // without a workstream: left over from an earlier run
	case ReportsReceived:
		return e.By == nil
	case CheckpointCreated, CheckpointsRemoved, CheckpointSkipped, CheckpointPinned, CheckpointUnpinned, CheckpointDamaged, CheckpointRebuilt,
		WorkspaceCaptured, RollbackStarted, RollbackCompleted, RollbackFailed,
		SessionAbandoned, SessionAdopted, ActsRemembered, HookEnded, PauseAsked, ReviewOverridden, GateApproved, GateRejected, GateReviewed, WorkstreamResolved:
		return false
	}
	return true
}
