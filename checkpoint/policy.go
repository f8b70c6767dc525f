package checkpoint

import (
	"fmt"
	"time"
)

// Policy says which checkpoints are made, and which are kept.
type Policy struct {
	Enabled bool // false: no checkpoint at all
	Auto    bool // false: only the mandatory and the manual ones
	// Triggers switches triggers off; one that is not listed is on.
	Triggers map[Trigger]bool
	// Retention is how many are kept of a trigger, per phase for
	// batch_complete and workstream_complete. -1, or no entry, keeps all.
	Retention map[Trigger]int

	// What follows is not applied at a boundary, since it needs a look at
	// everything there is: it is for operations that prune.
	MaxAge       time.Duration
	FailedMaxAge time.Duration
	MaxSizeMB    int
	OnComplete   OnComplete
	Compress     bool
}

// OnComplete says what becomes of the checkpoints of a complete session.
type OnComplete string

// What becomes of the checkpoints of a complete session.
const (
	KeepOnComplete   OnComplete = "keep"
	DeleteOnComplete OnComplete = "delete"
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
		Retention: map[Trigger]int{
			TriggerPhaseTransition:    -1,
			TriggerBatchComplete:      3,
			TriggerWorkstreamComplete: 1,
			TriggerGatePassed:         1,
			TriggerConflictResolved:   -1,
			TriggerUserInterrupt:      1,
			TriggerManual:             -1,
		},
		MaxAge:       7 * 24 * time.Hour,
		FailedMaxAge: 30 * 24 * time.Hour,
		MaxSizeMB:    50,
		OnComplete:   KeepOnComplete,
	}
}

// isZero reports whether nothing was set, which stands for the default.
func (p Policy) isZero() bool {
	return !p.Enabled && !p.Auto && p.Triggers == nil && p.Retention == nil &&
		p.MaxAge == 0 && p.FailedMaxAge == 0 && p.MaxSizeMB == 0 && p.OnComplete == "" && !p.Compress
}

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

// Decision is what retention says of a checkpoint.
type Decision struct {
	ID     string
	Keep   bool
	Reason string
}

// Retain decides which checkpoints are kept, given oldest first. It is a pure
// function; the newest valid one is kept whatever the policy says. Invalid
// ones, which a rollback left behind, do not count.
func Retain(refs []*CheckpointRef, p Policy) []Decision {
	decisions := make([]Decision, len(refs))
	kept := map[group]int{}
	newest := true
	for i := len(refs) - 1; i >= 0; i-- {
		ref := refs[i]
		d := Decision{ID: ref.ID, Keep: true}
		g := groupOf(ref.Trigger, ref.Phase)
		limit, limited := p.limit(ref.Trigger)
		switch {
		case !ref.Valid:
			d.Reason = "invalid, and not counted"
		case newest:
			d.Reason = "the newest valid one"
		case !limited:
			d.Reason = fmt.Sprintf("all of %s are kept", g)
		case kept[g] < limit:
			d.Reason = fmt.Sprintf("one of the last %d of %s", limit, g)
		default:
			d.Keep, d.Reason = false, fmt.Sprintf("only the last %d of %s are kept", limit, g)
		}
		if ref.Valid {
			newest = false
			kept[g]++
		}
		decisions[i] = d
	}
	return decisions
}

// limit returns how many of a trigger are kept, if not all.
func (p Policy) limit(t Trigger) (int, bool) {
	n, listed := p.Retention[t]
	return n, listed && n >= 0
}

// group is what retention counts together.
type group struct {
	trigger Trigger
	phase   string
}

func groupOf(t Trigger, phase string) group {
	if t == TriggerBatchComplete || t == TriggerWorkstreamComplete {
		return group{t, phase}
	}
	return group{trigger: t}
}

func (g group) String() string {
	if g.phase == "" {
		return string(g.trigger)
	}
	return string(g.trigger) + " in " + g.phase
}
