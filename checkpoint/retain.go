package checkpoint

import (
	"fmt"
	"slices"
	"time"
)

// Pass is one look at what a PRD holds: all that retention knows besides the
// checkpoints and the policy. The zero Pass judges by counts alone, as a
// boundary does.
type Pass struct {
	Clock  Clock             // zero: nothing is judged by its age
	Usage  Usage             // zero: nothing is judged by its size
	Needed map[string]string // ids that something kept still needs, and what for
	Prune  PruneOptions
}

// PruneOptions are what a person asked for, on top of the policy.
type PruneOptions struct {
	// OlderThan takes the place of the policy's ages, and takes the clock at
	// its word: whoever asks is there to look at it. 0: nothing was asked for.
	OlderThan time.Duration
}

// Decision is what retention says of a checkpoint, or of an archived session.
type Decision struct {
	ID     string
	Keep   bool
	Reason string
	Bytes  int64 // that its removal frees, after those that stand before it in the order of removal
}

// RetainResult is what a pass comes to.
type RetainResult struct {
	Decisions []Decision // in the order in which they were given
	Freed     int64      // bytes that the removals free
	Over      int64      // bytes over the policy's size that are left although nothing more may go
	Doubted   int        // how many are too old by a reading of the clock that is not believed, see Clock
}

// Retain decides which checkpoints of a session are kept. It is a pure
// function. The checkpoints are given in the order of the journal, which alone
// says which one is newer; their times are looked at for ages only.
//
// Whatever the policy says, it keeps the newest valid checkpoint, pinned ones,
// those in Needed, and those of a trigger of which all are kept; where that is
// so for want of a count, the age that a person asks for takes them all the
// same. Of the others it removes, in this order: those that are more than the
// policy's count; those that are too old; and, while the PRD holds more than it
// may, the oldest one, invalid ones first. Invalid ones, which a rollback went
// back before or which are damaged, do not count, and neither do pinned ones.
//
// Nothing is given up for its size in vain: none at all where the PRD would
// hold too much without any of them, and none without which it fits as well.
//
// Applied again to what it kept, it removes nothing more.
func Retain(refs []*CheckpointRef, p Policy, in Pass) RetainResult {
	created := make([]time.Time, len(refs))
	for i, ref := range refs {
		created[i] = ref.CreatedAt
	}
	r := retaining{
		policy: p, needed: in.Needed, newest: newestValid(refs), kept: map[group]int{},
		ages: newAgeRule(in, p.MaxAge, created), usage: newTally(in.Usage),
		result: RetainResult{Decisions: make([]Decision, len(refs))},
	}
	for i, ref := range slices.Backward(refs) {
		r.result.Decisions[i] = r.judge(ref)
	}
	for i := range r.result.Decisions {
		if d := &r.result.Decisions[i]; !d.Keep {
			r.free(d)
		}
	}
	r.fit(refs)
	return r.result
}

// retaining is a pass under way.
type retaining struct {
	policy Policy
	needed map[string]string
	newest *CheckpointRef // the newest valid one
	kept   map[group]int  // how many valid ones of a group were met, from the newest on
	ages   ageRule
	usage  *tally
	result RetainResult
}

// protection returns why a checkpoint is kept whatever happens, or "".
func (r *retaining) protection(ref *CheckpointRef) string {
	switch why, needed := r.needed[ref.ID]; {
	case ref == r.newest:
		return "the newest valid one"
	case ref.Pinned:
		return "pinned"
	case needed:
		return "needed: " + why
	case r.policy.keepsAll(ref.Trigger):
		return fmt.Sprintf("all of %s are kept", ref.Trigger)
	}
	return ""
}

// judge decides about one checkpoint by count and age. Newer ones come first.
func (r *retaining) judge(ref *CheckpointRef) Decision {
	keep := func(format string, args ...any) Decision {
		return Decision{ID: ref.ID, Keep: true, Reason: fmt.Sprintf(format, args...)}
	}
	remove := func(format string, args ...any) Decision {
		return Decision{ID: ref.ID, Reason: fmt.Sprintf(format, args...)}
	}
	g := groupOf(ref.Trigger, ref.Phase)
	limit, limited := r.policy.limit(ref.Trigger)
	counted := isUsable(ref) && !ref.Pinned
	if counted {
		r.kept[g]++
	}
	if why := r.protection(ref); why != "" {
		return keep("%s", why)
	}
	if counted && limited && r.kept[g] > limit {
		return remove("only the last %d of %s are kept", limit, g)
	}
	switch age, why := r.ages.judge(ref.CreatedAt); {
	case !limited && !r.ages.asked:
		return keep("the number of %s is not limited", g)
	case age == tooOld:
		return remove("%s", why)
	case age == doubtful:
		r.result.Doubted++
		return keep("%s", why)
	case ref.Damage != nil:
		return keep("damaged, and not counted")
	case !ref.Valid && ref.InvalidatedBy != "":
		return keep("invalid since rollback %s, and not counted", ref.InvalidatedBy)
	case !ref.Valid:
		return keep("invalid, and not counted")
	case limited:
		return keep("one of the last %d of %s", limit, g)
	}
	return keep("the number of %s is not limited", g)
}

// fit makes the PRD hold no more than it may, if that can be done.
func (r *retaining) fit(refs []*CheckpointRef) {
	limit := int64(r.policy.MaxSizeMB) * megabyte
	if limit <= 0 || r.usage.total <= limit {
		return
	}
	removed, fits := r.tooMuch(refs, limit)
	if !fits {
		r.result.Over = r.usage.total - limit
		return
	}
	for _, i := range removed {
		d := &r.result.Decisions[i]
		d.Keep = false
		d.Reason = fmt.Sprintf("over max_size_mb: %d MB of %d MB", inMB(r.usage.total), r.policy.MaxSizeMB)
		r.free(d)
	}
}

// tooMuch returns which checkpoints go for a limit, the oldest first, invalid
// ones before all others. It reports false if the PRD is over it even without
// all that may go: then none of them is worth it. Those that turn out not to
// have helped, since the ones after them free enough, stay.
func (r *retaining) tooMuch(refs []*CheckpointRef, limit int64) (removed []int, fits bool) {
	trial := r.usage.clone()
	for _, usable := range []bool{false, true} {
		for i, ref := range refs {
			if trial.total <= limit {
				break
			}
			_, limited := r.policy.limit(ref.Trigger)
			if isUsable(ref) != usable || !limited || !r.result.Decisions[i].Keep || r.protection(ref) != "" {
				continue
			}
			trial.release(ref.ID)
			removed = append(removed, i)
		}
	}
	if trial.total > limit {
		return nil, false
	}
	for at, i := range slices.Backward(removed) {
		trial.restore(refs[i].ID)
		if trial.total <= limit {
			removed = slices.Delete(removed, at, at+1)
			continue
		}
		trial.release(refs[i].ID)
	}
	return removed, true
}

// free accounts for a removal.
func (r *retaining) free(d *Decision) {
	d.Bytes = r.usage.release(d.ID)
	r.result.Freed += d.Bytes
}

// newestValid returns the last checkpoint that can be gone back to, or nil.
func newestValid(refs []*CheckpointRef) *CheckpointRef {
	for _, ref := range slices.Backward(refs) {
		if isUsable(ref) {
			return ref
		}
	}
	return nil
}

// isUsable reports whether a checkpoint can be gone back to.
func isUsable(ref *CheckpointRef) bool { return ref.Valid && ref.Damage == nil }
