package checkpoint

import "time"

// Policy says which checkpoints are made, and which are kept.
type Policy struct {
	Enabled bool // false: no checkpoint at all
	Auto    bool // false: only the mandatory and the manual ones
	// Triggers switches triggers off; one that is not listed is on.
	Triggers map[Trigger]bool
	// Retention is how many are kept of a trigger, per phase for
	// batch_complete and workstream_complete. -1 keeps all, whatever their age
	// and size, and so does no entry; but those of no entry go by the age that
	// a person asks for.
	Retention map[Trigger]int

	// The limits that follow are not applied at a boundary, since they need a
	// look at everything there is: they are for operations that prune. 0 is no
	// limit.
	MaxAge       time.Duration // of a checkpoint, and of a complete session in the history
	FailedMaxAge time.Duration // of a session that was archived without being complete
	MaxSizeMB    int           // of all that a PRD holds, in units of 2^20 bytes

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

// limit returns how many of a trigger are kept, if their number is limited.
func (p Policy) limit(t Trigger) (int, bool) {
	n, listed := p.Retention[t]
	return n, listed && n >= 0
}

// keepsAll reports whether all of a trigger are kept, whatever their age and
// size, even where a person asks for an age.
func (p Policy) keepsAll(t Trigger) bool {
	n, listed := p.Retention[t]
	return listed && n < 0
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
