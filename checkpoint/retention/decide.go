package retention

import (
	"fmt"
	"slices"
)

// pass is a running Decide.
type pass struct {
	checkpoints []Checkpoint
	policy      Policy
	needed      map[string]string
	newest      int           // index of the newest usable checkpoint, or -1
	kept        map[Group]int // number counted per group, beginning with the newest
	ages        ageRule
	usage       *tally
	result      Result
}

// newestUsable returns the index of the last checkpoint that a rollback can restore, or -1.
func newestUsable(checkpoints []Checkpoint) int {
	for i, c := range slices.Backward(checkpoints) {
		if c.Unusable == "" {
			return i
		}
	}
	return -1
}

// protection returns why every policy keeps a checkpoint, or "".
func (d *pass) protection(i int) string {
	c := &d.checkpoints[i]
	switch why, needed := d.needed[c.ID]; {
	case i == d.newest:
		return "the newest valid one"
	case c.Pinned:
		return "pinned"
	case needed:
		return "needed: " + why
	case d.policy.keepsAll(c.Group.Trigger):
		return fmt.Sprintf("all of %s are kept", c.Group.Trigger)
	}
	return ""
}

// decide applies the rules of count and age to one checkpoint. The caller goes from the
// newest to the oldest.
func (d *pass) decide(i int) Decision {
	c := &d.checkpoints[i]
	keep := func(format string, args ...any) Decision {
		return Decision{ID: c.ID, Keep: true, Reason: fmt.Sprintf(format, args...)}
	}
	remove := func(format string, args ...any) Decision {
		return Decision{ID: c.ID, Reason: fmt.Sprintf(format, args...)}
	}
	limit, limited := d.policy.Limit(c.Group.Trigger)
	counted := c.Unusable == "" && !c.Pinned
	if counted {
		d.kept[c.Group]++
	}
	if why := d.protection(i); why != "" {
		return keep("%s", why)
	}
	if counted && limited && d.kept[c.Group] > limit {
		return remove("only the last %d of %s are kept", limit, c.Group)
	}
	switch age, why := d.ages.verdict(c.At); {
	case age == tooOld:
		return remove("%s", why)
	case age == doubtful:
		d.result.Doubted++
		return keep("%s", why)
	case c.Unusable != "":
		return keep("%s, and not counted", c.Unusable)
	case limited:
		return keep("one of the last %d of %s", limit, c.Group)
	}
	return keep("the number of %s is not limited", c.Group)
}

// recordRemoval updates the sizes for a removal.
func (d *pass) recordRemoval(decision *Decision) {
	decision.Bytes = d.usage.release(decision.ID)
	d.result.Freed += decision.Bytes
}
