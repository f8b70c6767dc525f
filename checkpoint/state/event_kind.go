package state

// Kind names an event in the journal.
type Kind string

// The kinds of event. A journal that holds any other was written by a newer
// version and is refused.
const (
	KindSessionStarted     Kind = "session.started"
	KindSessionResumed     Kind = "session.resumed"
	KindSessionPaused      Kind = "session.paused"
	KindSessionFailed      Kind = "session.failed"
	KindSessionInterrupted Kind = "session.interrupted"
	KindSessionCompleted   Kind = "session.completed"
	KindSessionAbandoned   Kind = "session.abandoned"
	KindSessionAdopted     Kind = "session.adopted"
	KindActsRemembered     Kind = "acts.remembered"
	KindPauseRequested     Kind = "pause.requested"
	KindHooksDue           Kind = "hooks.due"
	KindHookEnded          Kind = "hook.ended"

	KindPhaseStarted   Kind = "phase.started"
	KindPhaseCompleted Kind = "phase.completed"
	KindPhaseSkipped   Kind = "phase.skipped"

	KindWorkstreamStarted       Kind = "workstream.started"
	KindWorkstreamAttemptFailed Kind = "workstream.attempt_failed"
	KindWorkstreamSucceeded     Kind = "workstream.succeeded"
	KindWorkstreamCompleted     Kind = "workstream.completed"
	KindWorkstreamFailed        Kind = "workstream.failed"
	KindWorkstreamInterrupted   Kind = "workstream.interrupted"
	KindWorkstreamUncertain     Kind = "workstream.uncertain"
	KindWorkstreamResolved      Kind = "workstream.resolved"
	KindWorkstreamSkipped       Kind = "workstream.skipped"
	KindWorkstreamInvalidated   Kind = "workstream.invalidated"
	KindWorkstreamEdited        Kind = "workstream.edited"

	KindGateStarted  Kind = "gate.started"
	KindGatePassed   Kind = "gate.passed"
	KindGateFailed   Kind = "gate.failed"
	KindGateAsked    Kind = "gate.asked"
	KindGateApproved Kind = "gate.approved"
	KindGateRejected Kind = "gate.rejected"
	KindGateSkipped  Kind = "gate.skipped"
	KindGateVoided   Kind = "gate.voided"
	KindGateReviewed Kind = "gate.reviewed"

	KindProcessesEnded Kind = "processes.ended"

	KindCheckpointCreated  Kind = "checkpoint.created"
	KindCheckpointsRemoved Kind = "checkpoints.removed"
	KindCheckpointSkipped  Kind = "checkpoint.skipped"
	KindCheckpointPinned   Kind = "checkpoint.pinned"
	KindCheckpointUnpinned Kind = "checkpoint.unpinned"
	KindCheckpointDamaged  Kind = "checkpoint.damaged"
	KindCheckpointRebuilt  Kind = "checkpoint.rebuilt"

	KindWorkspaceCaptured Kind = "workspace.captured"
	KindArtifactsRestored Kind = "artifacts.restored"

	KindRollbackStarted   Kind = "rollback.started"
	KindRollbackCompleted Kind = "rollback.completed"
	KindRollbackFailed    Kind = "rollback.failed"
)

// Kind implements Event.
func (SessionStarted) Kind() Kind { return KindSessionStarted }

// Kind implements Event.
func (SessionResumed) Kind() Kind { return KindSessionResumed }

// Kind implements Event.
func (SessionPaused) Kind() Kind { return KindSessionPaused }

// Kind implements Event.
func (SessionFailed) Kind() Kind { return KindSessionFailed }

// Kind implements Event.
func (SessionInterrupted) Kind() Kind { return KindSessionInterrupted }

// Kind implements Event.
func (SessionCompleted) Kind() Kind { return KindSessionCompleted }

// Kind implements Event.
func (SessionAbandoned) Kind() Kind { return KindSessionAbandoned }

// Kind implements Event.
func (SessionAdopted) Kind() Kind { return KindSessionAdopted }

// Kind implements Event.
func (HooksDue) Kind() Kind { return KindHooksDue }

// Kind implements Event.
func (HookEnded) Kind() Kind { return KindHookEnded }

// Kind implements Event.
func (ActsRemembered) Kind() Kind { return KindActsRemembered }

// Kind implements Event.
func (PauseAsked) Kind() Kind { return KindPauseRequested }

// Kind implements Event.
func (PhaseStarted) Kind() Kind { return KindPhaseStarted }

// Kind implements Event.
func (PhaseCompleted) Kind() Kind { return KindPhaseCompleted }

// Kind implements Event.
func (PhaseSkipped) Kind() Kind { return KindPhaseSkipped }

// Kind implements Event.
func (WorkstreamStarted) Kind() Kind { return KindWorkstreamStarted }

// Kind implements Event.
func (WorkstreamAttemptFailed) Kind() Kind { return KindWorkstreamAttemptFailed }

// Kind implements Event.
func (WorkstreamSucceeded) Kind() Kind { return KindWorkstreamSucceeded }

// Kind implements Event.
func (WorkstreamCompleted) Kind() Kind { return KindWorkstreamCompleted }

// Kind implements Event.
func (WorkstreamFailed) Kind() Kind { return KindWorkstreamFailed }

// Kind implements Event.
func (WorkstreamInterrupted) Kind() Kind { return KindWorkstreamInterrupted }

// Kind implements Event.
func (WorkstreamUncertain) Kind() Kind { return KindWorkstreamUncertain }

// Kind implements Event.
func (WorkstreamResolved) Kind() Kind { return KindWorkstreamResolved }

// Kind implements Event.
func (WorkstreamSkipped) Kind() Kind { return KindWorkstreamSkipped }

// Kind implements Event.
func (WorkstreamInvalidated) Kind() Kind { return KindWorkstreamInvalidated }

// Kind implements Event.
func (WorkstreamEdited) Kind() Kind { return KindWorkstreamEdited }

// Kind implements Event.
func (GateStarted) Kind() Kind { return KindGateStarted }

// Kind implements Event.
func (GatePassed) Kind() Kind { return KindGatePassed }

// Kind implements Event.
func (GateFailed) Kind() Kind { return KindGateFailed }

// Kind implements Event.
func (GateAsked) Kind() Kind { return KindGateAsked }

// Kind implements Event.
func (GateApproved) Kind() Kind { return KindGateApproved }

// Kind implements Event.
func (GateRejected) Kind() Kind { return KindGateRejected }

// Kind implements Event.
func (GateSkipped) Kind() Kind { return KindGateSkipped }

// Kind implements Event.
func (GateVoided) Kind() Kind { return KindGateVoided }

// Kind implements Event.
func (GateReviewed) Kind() Kind { return KindGateReviewed }

// Kind implements Event.
func (ProcessesEnded) Kind() Kind { return KindProcessesEnded }

// Kind implements Event.
func (CheckpointCreated) Kind() Kind { return KindCheckpointCreated }

// Kind implements Event.
func (CheckpointsRemoved) Kind() Kind { return KindCheckpointsRemoved }

// Kind implements Event.
func (CheckpointSkipped) Kind() Kind { return KindCheckpointSkipped }

// Kind implements Event.
func (CheckpointPinned) Kind() Kind { return KindCheckpointPinned }

// Kind implements Event.
func (CheckpointUnpinned) Kind() Kind { return KindCheckpointUnpinned }

// Kind implements Event.
func (CheckpointDamaged) Kind() Kind { return KindCheckpointDamaged }

// Kind implements Event.
func (CheckpointRebuilt) Kind() Kind { return KindCheckpointRebuilt }

// Kind implements Event.
func (WorkspaceCaptured) Kind() Kind { return KindWorkspaceCaptured }

// Kind implements Event.
func (RollbackStarted) Kind() Kind { return KindRollbackStarted }

// Kind implements Event.
func (RollbackCompleted) Kind() Kind { return KindRollbackCompleted }

// Kind implements Event.
func (RollbackFailed) Kind() Kind { return KindRollbackFailed }

// Kind implements Event.
func (ArtifactsRestored) Kind() Kind { return KindArtifactsRestored }
