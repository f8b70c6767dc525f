package checkpoint

import (
	"reflect"
	"time"

	"prdrunner/checkpoint/retention"
)

// Policy says which checkpoints are made, and which are kept.
type Policy struct {
	Enabled bool // false: no checkpoint at all
	Auto    bool // false: only the mandatory and the manual ones
	// Triggers switches triggers off; one that is not listed is on.
	Triggers map[Trigger]bool
	// Retention counts per phase for batch_complete and workstream_complete. A
	// boundary applies its counts alone: its limits of age and size need a look
	// at everything there is, and are for operations that prune.
	Retention  retention.Policy
	OnComplete OnComplete
	Compress   bool // checkpoint files, and objects where that saves something
}

// OnComplete says what becomes of the checkpoints of a complete session.
type OnComplete string

// What becomes of the checkpoints of a complete session.
const (
	KeepOnComplete    OnComplete = "keep"
	DeleteOnComplete  OnComplete = "delete"  // they go, and what they alone need; journal and document stay
	ArchiveOnComplete OnComplete = "archive" // the session goes into the history at once, whole
)

// DefaultPolicy returns the policy that applies where nothing is configured.
func DefaultPolicy() Policy {
	return Policy{
		Enabled: true,
		Auto:    true,
		Triggers: map[Trigger]bool{
			TriggerPhaseTransition:    true,
			TriggerBatchComplete:      true,
			TriggerWorkstreamComplete: true,
			TriggerGatePassed:         true,
			TriggerConflictStart:      true,
			TriggerConflictResolved:   true,
		},
		Retention: retention.Policy{
			Counts: map[string]int{
				string(TriggerPhaseTransition):    -1,
				string(TriggerBatchComplete):      3,
				string(TriggerWorkstreamComplete): 1,
				string(TriggerGatePassed):         1,
				string(TriggerConflictResolved):   -1,
				string(TriggerUserInterrupt):      1,
				string(TriggerManual):             -1,
			},
			MaxAge:       7 * 24 * time.Hour,
			FailedMaxAge: 30 * 24 * time.Hour,
			MaxSizeMB:    50,
		},
		OnComplete: KeepOnComplete,
	}
}

// isZero reports whether nothing was set, which stands for the default.
func (p Policy) isZero() bool { return reflect.ValueOf(p).IsZero() }

// wants reports whether a checkpoint is made for a trigger.
func (p Policy) wants(t Trigger) bool {
	if !p.Enabled || t.isMandatory() {
		return p.Enabled
	}
	if !p.Auto {
		return false
	}
	on, listed := p.Triggers[t]
	return on || !listed
}

// captures reports whether the files are captured for a checkpoint of the trigger,
// while nothing runs.
func (t Trigger) captures() bool {
	switch t {
	case TriggerStart, TriggerPhaseTransition, TriggerPause, TriggerFailure, TriggerUserInterrupt, TriggerSessionEnd,
		TriggerComplete, TriggerPreRollback:
		return true
	case TriggerManual, TriggerBatchComplete, TriggerWorkstreamComplete, TriggerGatePassed, TriggerConflictStart, TriggerConflictResolved:
	}
	return false
}

// isMandatory reports whether the trigger cannot be switched off by itself.
func (t Trigger) isMandatory() bool {
	switch t {
	case TriggerStart, TriggerFailure, TriggerUserInterrupt, TriggerSessionEnd, TriggerManual, TriggerPreRollback:
		return true
	case TriggerPhaseTransition, TriggerBatchComplete, TriggerWorkstreamComplete, TriggerGatePassed,
		TriggerConflictStart, TriggerConflictResolved, TriggerPause, TriggerComplete:
	}
	return false
}
