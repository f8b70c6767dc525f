package journal

import (
	"fmt"

	"prdrunner/checkpoint/state"
)

// DecodeEvent decodes an event of a known kind from its JSON.
func DecodeEvent(kind state.Kind, data []byte) (state.Event, error) {
	switch kind {
	case state.KindSessionStarted:
		return decodeAs[state.SessionStarted](data)
	case state.KindSessionResumed:
		return decodeAs[state.SessionResumed](data)
	case state.KindSessionPaused:
		return decodeAs[state.SessionPaused](data)
	case state.KindSessionFailed:
		return decodeAs[state.SessionFailed](data)
	case state.KindSessionInterrupted:
		return decodeAs[state.SessionInterrupted](data)
	case state.KindSessionCompleted:
		return decodeAs[state.SessionCompleted](data)
	case state.KindSessionAbandoned:
		return decodeAs[state.SessionAbandoned](data)
	case state.KindSessionAdopted:
		return decodeAs[state.SessionAdopted](data)
	case state.KindHooksDue:
		return decodeAs[state.HooksDue](data)
	case state.KindHookEnded:
		return decodeAs[state.HookEnded](data)
	case state.KindActsRemembered:
		return decodeAs[state.ActsRemembered](data)
	case state.KindPauseRequested:
		return decodeAs[state.PauseAsked](data)
	case state.KindPhaseExpanded:
		return decodeAs[state.PhaseExpanded](data)
	case state.KindPhaseRepeated:
		return decodeAs[state.PhaseRepeated](data)
	case state.KindReviewStarted:
		return decodeAs[state.ReviewStarted](data)
	case state.KindReviewJudged:
		return decodeAs[state.ReviewJudged](data)
	case state.KindReviewFailed:
		return decodeAs[state.ReviewFailed](data)
	case state.KindReviewInterrupted:
		return decodeAs[state.ReviewInterrupted](data)
	case state.KindReviewOverridden:
		return decodeAs[state.ReviewOverridden](data)
	case state.KindBudgetRaised:
		return decodeAs[state.BudgetRaised](data)
	case state.KindReportsReceived:
		return decodeAs[state.ReportsReceived](data)
	case state.KindProtectionMade:
		return decodeAs[state.ProtectionMade](data)
	case state.KindProtectionRolledBack:
		return decodeAs[state.ProtectionRolledBack](data)
	case state.KindProtectionCommitted:
		return decodeAs[state.ProtectionCommitted](data)
	case state.KindProtectionKept:
		return decodeAs[state.ProtectionKept](data)
	case state.KindServiceStarted:
		return decodeAs[state.ServiceStarted](data)
	case state.KindServiceReady:
		return decodeAs[state.ServiceReady](data)
	case state.KindServiceEnded:
		return decodeAs[state.ServiceEnded](data)
	case state.KindScopeExceeded:
		return decodeAs[state.ScopeExceeded](data)
	case state.KindPhaseStarted:
		return decodeAs[state.PhaseStarted](data)
	case state.KindPhaseCompleted:
		return decodeAs[state.PhaseCompleted](data)
	case state.KindPhaseSkipped:
		return decodeAs[state.PhaseSkipped](data)
	case state.KindWorkstreamStarted:
		return decodeAs[state.WorkstreamStarted](data)
	case state.KindWorkstreamAttemptFailed:
		return decodeAs[state.WorkstreamAttemptFailed](data)
	case state.KindWorkstreamSucceeded:
		return decodeAs[state.WorkstreamSucceeded](data)
	case state.KindWorkstreamCompleted:
		return decodeAs[state.WorkstreamCompleted](data)
	case state.KindWorkstreamFailed:
		return decodeAs[state.WorkstreamFailed](data)
	case state.KindWorkstreamInterrupted:
		return decodeAs[state.WorkstreamInterrupted](data)
	case state.KindWorkstreamUncertain:
		return decodeAs[state.WorkstreamUncertain](data)
	case state.KindWorkstreamResolved:
		return decodeAs[state.WorkstreamResolved](data)
	case state.KindWorkstreamSkipped:
		return decodeAs[state.WorkstreamSkipped](data)
	case state.KindWorkstreamInvalidated:
		return decodeAs[state.WorkstreamInvalidated](data)
	case state.KindWorkstreamEdited:
		return decodeAs[state.WorkstreamEdited](data)
	case state.KindGateStarted:
		return decodeAs[state.GateStarted](data)
	case state.KindGatePassed:
		return decodeAs[state.GatePassed](data)
	case state.KindGateFailed:
		return decodeAs[state.GateFailed](data)
	case state.KindGateAsked:
		return decodeAs[state.GateAsked](data)
	case state.KindGateApproved:
		return decodeAs[state.GateApproved](data)
	case state.KindGateRejected:
		return decodeAs[state.GateRejected](data)
	case state.KindGateSkipped:
		return decodeAs[state.GateSkipped](data)
	case state.KindGateVoided:
		return decodeAs[state.GateVoided](data)
	case state.KindGateReviewed:
		return decodeAs[state.GateReviewed](data)
	case state.KindProcessesEnded:
		return decodeAs[state.ProcessesEnded](data)
	case state.KindCheckpointCreated:
		return decodeAs[state.CheckpointCreated](data)
	case state.KindCheckpointsRemoved:
		return decodeAs[state.CheckpointsRemoved](data)
	case state.KindCheckpointSkipped:
		return decodeAs[state.CheckpointSkipped](data)
	case state.KindCheckpointPinned:
		return decodeAs[state.CheckpointPinned](data)
	case state.KindCheckpointUnpinned:
		return decodeAs[state.CheckpointUnpinned](data)
	case state.KindCheckpointDamaged:
		return decodeAs[state.CheckpointDamaged](data)
	case state.KindCheckpointRebuilt:
		return decodeAs[state.CheckpointRebuilt](data)
	case state.KindWorkspaceCaptured:
		return decodeAs[state.WorkspaceCaptured](data)
	case state.KindArtifactsRestored:
		return decodeAs[state.ArtifactsRestored](data)
	case state.KindRollbackStarted:
		return decodeAs[state.RollbackStarted](data)
	case state.KindRollbackCompleted:
		return decodeAs[state.RollbackCompleted](data)
	case state.KindRollbackFailed:
		return decodeAs[state.RollbackFailed](data)
	}
	return nil, &state.VersionError{Version: fmt.Sprintf("event kind %q", kind)}
}

func decodeAs[E state.Event](data []byte) (state.Event, error) {
	var e E
	if err := state.DecodeJSON(data, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLine, err)
	}
	return e, nil
}
