// Package retention decides which checkpoints of a session are kept, and which
// sessions that were set aside, each with the reason. It is pure: values in,
// decisions out. It reads no clock and no file, and it removes nothing. Package
// checkpoint, above it, gathers what it is told and carries out what it says.
//
// Whatever the policy says, these stay:
//
//   - the newest checkpoint that can be gone back to, so that there always is one;
//   - pinned ones;
//   - those in Pass.Needed, since something that is kept could not do without;
//   - those of a trigger whose count is -1, of any age and size.
//
// Of the others it removes, in this order:
//
//   - by count, those beyond the last so many of their trigger, or, where their
//     Group names a phase, of their trigger in that phase, as package checkpoint
//     has it for batch_complete and workstream_complete. Pinned ones do not
//     count, and neither do those that cannot be gone back to;
//   - by age, those that are older than the policy's greatest one, or than the
//     one that a person asks for, which takes its place (see Clock);
//   - by size, while the PRD holds more than it may, the oldest one, those that
//     cannot be gone back to first. Nothing goes in vain: none at all where the
//     PRD would hold too much without any of them, and none without which it
//     fits as well.
//
// A trigger of which all are kept is exempt from all three, and one that has no
// count goes by age alone.
//
// The order in which checkpoints are given, that of the journal, alone says
// which one is newer; their times are looked at for ages only. Applied again to
// what it kept, a pass removes nothing more.
//
// Decide, below, is where to begin. decide.go judges by count and age, age.go
// says what an age is, size.go and usage.go judge by size, and sessions.go is
// for the sessions that were set aside.
package retention

import (
	"slices"
	"time"
)

// Policy says how many checkpoints and sessions are kept, how long, and in how
// much space.
type Policy struct {
	// Counts is how many are kept of a trigger, by its name. -1 keeps all,
	// whatever their age and size. Those of a trigger without an entry go by age
	// alone.
	Counts map[string]int

	// 0 is no limit in what follows.
	MaxAge       time.Duration // of a checkpoint, and of a complete session in the history
	FailedMaxAge time.Duration // of a session that was set aside without being complete
	MaxSizeMB    int           // of all that a PRD holds, in units of Megabyte
}

// Limit returns how many of a trigger are kept, if their number is limited.
func (p Policy) Limit(trigger string) (n int, limited bool) {
	n, listed := p.Counts[trigger]
	return n, listed && n >= 0
}

// keepsAll reports whether all of a trigger are kept, whatever their age and
// size, even where a person asks for an age.
func (p Policy) keepsAll(trigger string) bool {
	n, listed := p.Counts[trigger]
	return listed && n < 0
}

// Checkpoint is a checkpoint as retention sees it.
type Checkpoint struct {
	ID       string
	Group    Group
	At       time.Time // when it was made; looked at only where a pass has a clock
	Pinned   bool
	Unusable string // why it cannot be gone back to; "": it can
}

// Group is what is counted together.
type Group struct {
	Trigger string // the name of what the checkpoints were made for
	Phase   string // in which, if those of the trigger are counted per phase, else ""
}

func (g Group) String() string {
	if g.Phase == "" {
		return g.Trigger
	}
	return g.Trigger + " in " + g.Phase
}

// Pass is one look at what a PRD holds: all that retention knows besides what
// is judged and the policy. The zero Pass judges by counts alone, for which the
// checkpoints of one group are enough: so a boundary looks only at those that
// are counted together with the new one, and costs the same in any session.
type Pass struct {
	Clock  Clock             // zero: nothing is judged by its age
	Usage  Usage             // zero: nothing is judged by its size
	Needed map[string]string // ids that something kept still needs, and what for
	// OlderThan is the age that a person asks for. It takes the place of the
	// policy's ages, and takes the clock at its word: whoever asks is there to
	// look at it. 0: nothing was asked for.
	OlderThan time.Duration
}

// Decision is what retention says of a checkpoint, or of a session that was
// set aside.
type Decision struct {
	ID     string
	Keep   bool
	Reason string
	Bytes  int64 // that its removal frees, after those that stand before it in the order of removal
}

// Result is what a pass comes to.
type Result struct {
	Decisions []Decision // in the order in which they were given
	Freed     int64      // bytes that the removals free
	Over      int64      // bytes over the policy's size that are left although nothing more may go
	Doubted   int        // how many are too old by a reading of the clock that is not believed, see Clock
}

// Decide applies a policy to checkpoints of a session, given in the order of
// the journal.
func Decide(checkpoints []Checkpoint, p Policy, in Pass) Result {
	made := make([]time.Time, len(checkpoints))
	for i, c := range checkpoints {
		made[i] = c.At
	}
	d := deciding{
		checkpoints: checkpoints, policy: p, needed: in.Needed, newest: newestUsable(checkpoints),
		kept: map[Group]int{}, ages: newAgeRule(in, p.MaxAge, made), usage: newTally(in.Usage),
		result: Result{Decisions: make([]Decision, len(checkpoints))},
	}
	for i := range slices.Backward(checkpoints) {
		d.result.Decisions[i] = d.judge(i)
	}
	for i := range d.result.Decisions {
		if decision := &d.result.Decisions[i]; !decision.Keep {
			d.free(decision)
		}
	}
	d.fit()
	return d.result
}
