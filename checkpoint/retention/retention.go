// Package retention decides which checkpoints of a session to keep, and which sessions in
// the history and under failed/, each with a reason. It is pure: it reads no clock and no
// file, and removes nothing. Package prune gathers the values and carries out the
// decisions; at a boundary, package checkpoint applies the counts.
//
// Every policy keeps these checkpoints:
//
//   - the newest checkpoint that a rollback can restore, so that one always exists;
//   - pinned checkpoints;
//   - checkpoints in Pass.Needed, which something that is kept depends on;
//   - checkpoints of a trigger whose count is -1, of any age and size.
//
// It removes others in this order:
//
//   - by count: those beyond the last n of their trigger. If Group names a phase, they are
//     counted per trigger and phase, as package checkpoint does for batch_complete and
//     workstream_complete. Pinned and unusable checkpoints do not count.
//   - by age: those older than the policy's maximum age, or than Pass.OlderThan, which
//     replaces it (see Clock).
//   - by size: while the PRD holds more than MaxSizeMB, the oldest, unusable ones first. It
//     removes none if the PRD would exceed the limit without any of them, and none that
//     would fit.
//
// A trigger that keeps all is exempt from all three rules. A trigger without a count is
// removed by age only.
//
// Checkpoints are given in the order of the journal, and only this order says which is
// newer; their times serve for ages. A second pass over the result removes nothing more.
//
// Begin with Decide, below. To add a rule: a limit on each checkpoint belongs in
// pass.decide (decide.go), a limit on their sum in size.go, a reason to
// keep a checkpoint in protection (decide.go). Add its setting to Policy, and its promise
// to the properties in property_test.go. age.go defines ages, usage.go counts bytes, and
// sessions.go decides about sessions.
package retention

import (
	"slices"
	"time"
)

// Policy holds the limits on checkpoints and sessions.
type Policy struct {
	// Counts is the number of checkpoints to keep per trigger. -1 keeps all, of any age and
	// size. Checkpoints of a trigger without an entry are removed by age only.
	Counts map[string]int

	// 0 means no limit.
	MaxAge       time.Duration // of checkpoints, and of complete sessions in the history
	FailedMaxAge time.Duration // of sessions under failed/
	MaxSizeMB    int           // of everything that a PRD holds, in units of Megabyte
}

// Limit returns how many checkpoints of a trigger to keep, and whether there is a limit.
func (p Policy) Limit(trigger string) (n int, limited bool) {
	n, listed := p.Counts[trigger]
	return n, listed && n >= 0
}

// keepsAll reports whether all checkpoints of a trigger are kept, even against
// Pass.OlderThan.
func (p Policy) keepsAll(trigger string) bool {
	n, listed := p.Counts[trigger]
	return listed && n < 0
}

// Checkpoint is what retention needs to know of a checkpoint.
type Checkpoint struct {
	ID       string
	Group    Group
	At       time.Time // time of creation; used only if the pass has a clock
	Pinned   bool
	Unusable string // why a rollback cannot restore it; "" if it can
}

// Group is the set of checkpoints that are counted together.
type Group struct {
	Trigger string // why the checkpoints were created
	Phase   string // if this trigger is counted per phase, else ""
}

func (g Group) String() string {
	if g.Phase == "" {
		return g.Trigger
	}
	return g.Trigger + " in " + g.Phase
}

// Pass holds the facts for one decision, besides the checkpoints and the policy. The zero
// Pass decides by count only. For that, the checkpoints of one group are enough: at a
// boundary Runner passes only the group of the new checkpoint, so that the cost does not
// grow with the session.
type Pass struct {
	Clock  Clock             // zero: no limit on age applies
	Usage  Usage             // zero: no limit on size applies
	Needed map[string]string // ids that something kept depends on, with the reason
	// OlderThan is a maximum age that the user asked for. It replaces the policy's ages,
	// and trusts the clock, because the user can check it. 0 means that none was asked for.
	OlderThan time.Duration
}

// Decision is the result for one checkpoint or session.
type Decision struct {
	ID     string
	Keep   bool
	Reason string
	Bytes  int64 // freed by its removal, after the removals that precede it
}

// Result holds the decisions of a pass.
type Result struct {
	Decisions []Decision // in the order of the input
	Freed     int64      // bytes that all removals free
	Over      int64      // bytes by which the PRD still exceeds the size limit
	Doubted   int        // number kept because their age is doubtful, see Clock
}

// Decide applies a policy to the checkpoints of a session, in the order of the journal.
func Decide(checkpoints []Checkpoint, p Policy, in Pass) Result {
	made := make([]time.Time, len(checkpoints))
	for i, c := range checkpoints {
		made[i] = c.At
	}
	d := pass{
		checkpoints: checkpoints, policy: p, needed: in.Needed, newest: newestUsable(checkpoints),
		kept: map[Group]int{}, ages: newAgeRule(in, p.MaxAge, made), usage: newTally(in.Usage),
		result: Result{Decisions: make([]Decision, len(checkpoints))},
	}
	for i := range slices.Backward(checkpoints) {
		d.result.Decisions[i] = d.decide(i)
	}
	for i := range d.result.Decisions {
		if decision := &d.result.Decisions[i]; !decision.Keep {
			d.recordRemoval(decision)
		}
	}
	d.removeBySize()
	return d.result
}
