package retention

import (
	"fmt"
	"slices"
)

// Megabyte is the unit of Policy.MaxSizeMB.
const Megabyte = 1 << 20

// InMB rounds up, so that what is over a limit also reads like it.
func InMB(bytes int64) int64 { return (bytes + Megabyte - 1) / Megabyte }

// fit makes the PRD hold no more than it may, if that can be done.
func (d *deciding) fit() {
	limit := int64(d.policy.MaxSizeMB) * Megabyte
	if limit <= 0 || d.usage.total <= limit {
		return
	}
	removed, fits := d.tooMuch(limit)
	if !fits {
		d.result.Over = d.usage.total - limit
		return
	}
	for _, i := range removed {
		decision := &d.result.Decisions[i]
		decision.Keep = false
		decision.Reason = fmt.Sprintf("over max_size_mb: %d MB of %d MB", InMB(d.usage.total), d.policy.MaxSizeMB)
		d.free(decision)
	}
}

// tooMuch returns which checkpoints go for a limit, the oldest first, those
// that cannot be gone back to before all others. It reports false if the PRD is
// over it even without all that may go: then none of them is worth it. Those
// that turn out not to have helped, since the ones after them free enough, stay.
func (d *deciding) tooMuch(limit int64) (removed []int, fits bool) {
	trial := d.usage.clone()
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
