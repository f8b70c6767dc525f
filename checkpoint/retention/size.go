package retention

import (
	"fmt"
	"slices"
)

// Megabyte is the unit of Policy.MaxSizeMB.
const Megabyte = 1 << 20

// InMB converts bytes to megabytes. It rounds up, so that a size above a limit is also
// shown as larger.
func InMB(bytes int64) int64 { return (bytes + Megabyte - 1) / Megabyte }

// removeBySize removes checkpoints until the PRD fits into its size limit, if it can.
func (d *pass) removeBySize() {
	limit := int64(d.policy.MaxSizeMB) * Megabyte
	if limit <= 0 || d.usage.total <= limit {
		return
	}
	removed, fits := d.planBySize(limit)
	if !fits {
		d.result.Over = d.usage.total - limit
		return
	}
	for _, i := range removed {
		decision := &d.result.Decisions[i]
		decision.Keep = false
		decision.Reason = fmt.Sprintf("over max_size_mb: %d MB of %d MB", InMB(d.usage.total), d.policy.MaxSizeMB)
		d.recordRemoval(decision)
	}
}

// planBySize returns the checkpoints to remove for a limit, the oldest first, unusable ones
// before all others. It reports false if the PRD would exceed the limit without any of
// them. A second loop, from the newest back, keeps those that the later removals made
// unnecessary.
func (d *pass) planBySize(limit int64) (removed []int, fits bool) {
	trial := d.usage.copy()
	for _, usable := range []bool{false, true} {
		for i, c := range d.checkpoints {
			if trial.total <= limit {
				break
			}
			_, limited := d.policy.Limit(c.Group.Trigger)
			if (c.Unusable == "") != usable || !limited || !d.result.Decisions[i].Keep || d.protection(i) != "" {
				continue
			}
			trial.release(c.ID)
			removed = append(removed, i)
		}
	}
	if trial.total > limit {
		return nil, false
	}
	for at, i := range slices.Backward(removed) {
		trial.restore(d.checkpoints[i].ID)
		if trial.total <= limit {
			removed = slices.Delete(removed, at, at+1)
			continue
		}
		trial.release(d.checkpoints[i].ID)
	}
	return removed, true
}
