package retention

import (
	"fmt"
	"slices"
)

// deciding is a pass under way.
type deciding struct {
	checkpoints []Checkpoint
	policy      Policy
	needed      map[string]string
	newest      int           // of those that can be gone back to; -1: there is none
	kept        map[Group]int // how many of a group were counted, from the newest on
	ages        ageRule
	usage       *tally
	result      Result
}

// newestUsable returns which is the last checkpoint that can be gone back to, or -1.
func newestUsable(checkpoints []Checkpoint) int {
	for i, c := range slices.Backward(checkpoints) {
		if c.Unusable == "" {
			return i
		}
	}
	return -1
}

// protection returns why a checkpoint is kept whatever happens, or "".
func (d *deciding) protection(i int) string {
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

// judge decides about one checkpoint by count and age. Newer ones come first.
func (d *deciding) judge(i int) Decision {
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
	switch age, why := d.ages.judge(c.At); {
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

// free accounts for a removal.
func (d *deciding) free(decision *Decision) {
	decision.Bytes = d.usage.release(decision.ID)
	d.result.Freed += decision.Bytes
}
