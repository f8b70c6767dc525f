package checkpoint

import (
	"fmt"
)

// decodeKind decodes an event of a known kind: a long table.
func decodeKind(kind Kind, data []byte) (Event, error) {
	switch kind {
	case KindSessionStarted:
		return decodeAs[SessionStarted](data)
	case KindSessionResumed:
		return decodeAs[SessionResumed](data)
	case KindSessionPaused:
		return decodeAs[SessionPaused](data)
	case KindSessionFailed:
		return decodeAs[SessionFailed](data)
	case KindSessionInterrupted:
		return decodeAs[SessionInterrupted](data)
	case KindSessionCompleted:
		return decodeAs[SessionCompleted](data)
	case KindSessionAbandoned:
		return decodeAs[SessionAbandoned](data)
	case KindSessionAdopted:
		return decodeAs[SessionAdopted](data)
	case KindHooksDue:
		return decodeAs[HooksDue](data)
	case KindHookEnded:
		return decodeAs[HookEnded](data)
	case KindActsRemembered:
		return decodeAs[ActsRemembered](data)
	case KindPauseRequested:
		return decodeAs[PauseAsked](data)
	case KindPhaseStarted:
		return decodeAs[PhaseStarted](data)
	case KindPhaseCompleted:
		return decodeAs[PhaseCompleted](data)
	case KindPhaseSkipped:
		return decodeAs[PhaseSkipped](data)
	case KindWorkstreamStarted:
		return decodeAs[WorkstreamStarted](data)
	case KindWorkstreamAttemptFailed:
		return decodeAs[WorkstreamAttemptFailed](data)
	case KindWorkstreamSucceeded:
		return decodeAs[WorkstreamSucceeded](data)
	case KindWorkstreamCompleted:
		return decodeAs[WorkstreamCompleted](data)
	case KindWorkstreamFailed:
		return decodeAs[WorkstreamFailed](data)
	case KindWorkstreamInterrupted:
		return decodeAs[WorkstreamInterrupted](data)
	case KindWorkstreamUncertain:
		return decodeAs[WorkstreamUncertain](data)
	case KindWorkstreamResolved:
		return decodeAs[WorkstreamResolved](data)
	case KindWorkstreamSkipped:
		return decodeAs[WorkstreamSkipped](data)
	case KindWorkstreamInvalidated:
		return decodeAs[WorkstreamInvalidated](data)
	case KindWorkstreamEdited:
		return decodeAs[WorkstreamEdited](data)
	case KindGateStarted:
		return decodeAs[GateStarted](data)
	case KindGatePassed:
		return decodeAs[GatePassed](data)
	case KindGateFailed:
		return decodeAs[GateFailed](data)
	case KindGateAsked:
		return decodeAs[GateAsked](data)
	case KindGateApproved:
		return decodeAs[GateApproved](data)
	case KindGateRejected:
		return decodeAs[GateRejected](data)
	case KindGateSkipped:
		return decodeAs[GateSkipped](data)
	case KindGateVoided:
		return decodeAs[GateVoided](data)
	case KindGateReviewed:
		return decodeAs[GateReviewed](data)
	case KindProcessesEnded:
		return decodeAs[ProcessesEnded](data)
	case KindCheckpointCreated:
		return decodeAs[CheckpointCreated](data)
	case KindCheckpointsRemoved:
		return decodeAs[CheckpointsRemoved](data)
	case KindCheckpointSkipped:
		return decodeAs[CheckpointSkipped](data)
	case KindCheckpointPinned:
		return decodeAs[CheckpointPinned](data)
	case KindCheckpointUnpinned:
		return decodeAs[CheckpointUnpinned](data)
	case KindCheckpointDamaged:
		return decodeAs[CheckpointDamaged](data)
	case KindCheckpointRebuilt:
		return decodeAs[CheckpointRebuilt](data)
	case KindWorkspaceCaptured:
		return decodeAs[WorkspaceCaptured](data)
	case KindArtifactsRestored:
		return decodeAs[ArtifactsRestored](data)
	case KindRollbackStarted:
		return decodeAs[RollbackStarted](data)
	case KindRollbackCompleted:
		return decodeAs[RollbackCompleted](data)
	case KindRollbackFailed:
		return decodeAs[RollbackFailed](data)
	}
	return nil, &VersionError{Version: fmt.Sprintf("event kind %q", kind)}
}

func decodeAs[E Event](data []byte) (Event, error) {
	var e E
	if err := unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLine, err)
	}
	return e, nil
}
