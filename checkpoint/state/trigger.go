package state

// Captures reports whether files are captured for a checkpoint of this trigger.
func (t Trigger) Captures() bool {
	switch t {
	case TriggerStart, TriggerPhaseTransition, TriggerIterationComplete, TriggerPause, TriggerFailure, TriggerUserInterrupt, TriggerSessionEnd,
		TriggerComplete, TriggerPreRollback:
		return true
	case TriggerManual, TriggerBatchComplete, TriggerWorkstreamComplete, TriggerGatePassed, TriggerConflictStart, TriggerConflictResolved:
	}
	return false
}

// IsMandatory reports whether the trigger can't be switched off by itself.
func (t Trigger) IsMandatory() bool {
	switch t {
	case TriggerStart, TriggerFailure, TriggerUserInterrupt, TriggerSessionEnd, TriggerManual, TriggerPreRollback:
		return true
	case TriggerPhaseTransition, TriggerBatchComplete, TriggerWorkstreamComplete, TriggerIterationComplete, TriggerGatePassed,
		TriggerConflictStart, TriggerConflictResolved, TriggerPause, TriggerComplete:
	}
	return false
}
