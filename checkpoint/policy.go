package checkpoint

import (
	"reflect"
	"time"

	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// Policy says which checkpoints are made, and which are kept.
type Policy struct {
	Enabled bool // false: no checkpoint at all
	Auto    bool // false: only the mandatory and the manual ones
	// Triggers switches triggers off; one that is not listed is on.
	Triggers map[state.Trigger]bool
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
		Triggers: map[state.Trigger]bool{
			state.TriggerPhaseTransition:    true,
			state.TriggerBatchComplete:      true,
			state.TriggerWorkstreamComplete: true,
			state.TriggerGatePassed:         true,
			state.TriggerConflictStart:      true,
			state.TriggerConflictResolved:   true,
		},
		Retention: retention.Policy{
			Counts: map[string]int{
				string(state.TriggerPhaseTransition):    -1,
				string(state.TriggerBatchComplete):      3,
				string(state.TriggerWorkstreamComplete): 1,
				string(state.TriggerGatePassed):         1,
				string(state.TriggerConflictResolved):   -1,
				string(state.TriggerUserInterrupt):      1,
				string(state.TriggerManual):             -1,
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
func (p Policy) wants(t state.Trigger) bool {
	if !p.Enabled || t.IsMandatory() {
		return p.Enabled
	}
	if !p.Auto {
		return false
	}
	on, listed := p.Triggers[t]
	return on || !listed
}
