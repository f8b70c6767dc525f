package checkpoint

import (
	"reflect"
	"time"

	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// Policy says which checkpoints Runner makes, and which it keeps.
type Policy struct {
	Enabled bool // false: Runner makes no checkpoint
	Auto    bool // false: Runner makes only mandatory and manual checkpoints
	// Triggers switches triggers off. A trigger that is not listed is on.
	Triggers map[state.Trigger]bool
	// Retention counts the checkpoints of batch_complete and workstream_complete per
	// phase. A boundary applies only the counts. The limits of age and size require
	// reading the whole store, and are applied by operations that prune.
	Retention  retention.Policy
	OnComplete OnComplete
	Compress   bool // compress checkpoint files, and objects that get smaller
}

// OnComplete says what happens to the checkpoints of a complete session.
type OnComplete string

// The values of OnComplete.
const (
	KeepOnComplete    OnComplete = "keep"
	DeleteOnComplete  OnComplete = "delete"  // remove them and the objects that only they need; keep journal and document
	ArchiveOnComplete OnComplete = "archive" // move the whole session to the history at once
)

// DefaultPolicy returns the policy that applies if nothing is configured.
func DefaultPolicy() Policy {
	return Policy{
		Enabled: true,
		Auto:    true,
		Triggers: map[state.Trigger]bool{
			state.TriggerPhaseTransition:    true,
			state.TriggerBatchComplete:      true,
			state.TriggerWorkstreamComplete: true,
			state.TriggerIterationComplete:  true,
			state.TriggerGatePassed:         true,
			state.TriggerConflictStart:      true,
			state.TriggerConflictResolved:   true,
		},
		Retention: retention.Policy{
			Counts: map[string]int{
				string(state.TriggerPhaseTransition):    -1,
				string(state.TriggerBatchComplete):      3,
				string(state.TriggerWorkstreamComplete): 1,
				string(state.TriggerIterationComplete):  3,
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

// isZero reports whether no field is set. Then DefaultPolicy applies.
func (p Policy) isZero() bool { return reflect.ValueOf(p).IsZero() }

// wantsTrigger reports whether Runner makes a checkpoint for a trigger.
func (p Policy) wantsTrigger(t state.Trigger) bool {
	if !p.Enabled || t.IsMandatory() {
		return p.Enabled
	}
	if !p.Auto {
		return false
	}
	on, listed := p.Triggers[t]
	return on || !listed
}

// ForRetention returns a checkpoint in the form that package retention uses.
func ForRetention(ref *state.CheckpointRef) retention.Checkpoint {
	return retention.Checkpoint{
		ID: ref.ID, Group: groupOf(ref.Trigger, ref.Phase), At: ref.CreatedAt,
		Pinned: ref.Pinned, Unusable: ref.Unusable(),
	}
}

// groupOf returns the group of checkpoints that retention counts together.
func groupOf(t state.Trigger, phase string) retention.Group {
	g := retention.Group{Trigger: string(t)}
	if t == state.TriggerBatchComplete || t == state.TriggerWorkstreamComplete || t == state.TriggerIterationComplete {
		g.Phase = phase
	}
	return g
}
