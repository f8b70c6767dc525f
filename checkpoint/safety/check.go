package safety

import (
	"fmt"
	"math"

	"prdrunner/checkpoint/state"
)

// Check is what Create verified about a new checkpoint.
type Check struct {
	Name   CheckName  `json:"name"`
	Share  float64    `json:"share"` // how much of it held, from 0 to 1
	Detail state.Text `json:"detail"`
}

// CheckName names a check.
type CheckName string

// The checks.
const (
	// ContentsCheck: the copied bytes are stored. A content that was read back and matches
	// its hash counts fully. One that an earlier checkpoint had stored and read back, and
	// that is still there in its length, counts as storedBefore.
	ContentsCheck CheckName = "contents"
	// CompleteCheck: everything in scope was copied. Its share is that of the files that
	// were neither left out as sensitive nor unreadable.
	CompleteCheck CheckName = "complete"
	// StableCheck: nothing in scope changed while it was copied.
	StableCheck CheckName = "stable"
	// RestoreCheck: a dry run of the restore found that nothing is missing or in the way.
	RestoreCheck CheckName = "restore"
)

// storedBefore is what a content counts in ContentsCheck that was not read back this time.
const storedBefore = 0.9

// weight returns what a check counts in the confidence. The weights of all checks add up
// to 1.
func (n CheckName) weight() float64 {
	switch n {
	case ContentsCheck:
		return 0.4
	case CompleteCheck, StableCheck, RestoreCheck:
		return 0.2
	}
	return 0
}

// Confidence returns how much of a checkpoint was verified, from 0 to 1: the weighted sum
// of the checks, rounded down to hundredths.
func (c *Checkpoint) Confidence() float64 {
	var sum float64
	for _, check := range c.Checks {
		sum += check.Name.weight() * check.Share
	}
	const hundredths, rounding = 100, 1e-9 // the second keeps 0.2+0.4 from counting as 0.59
	return math.Floor(sum*hundredths+rounding) / hundredths
}

// share returns the part that n is of all. Nothing of nothing is all of it.
func share(n, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(n) / float64(all)
}

// contentsCheck returns the check of contents of which some were read back, and the others
// had been stored before.
func contentsCheck(readBack, before int) Check {
	c := Check{Name: ContentsCheck, Share: 1, Detail: state.Text(fmt.Sprintf("%d read back and compared with their hashes", readBack))}
	if before > 0 {
		c.Share = (float64(readBack) + storedBefore*float64(before)) / float64(readBack+before)
		c.Detail = state.Text(fmt.Sprintf("%d of %d contents read back this time; an earlier checkpoint had stored and read back the others, which are still there", readBack, readBack+before))
	}
	return c
}
