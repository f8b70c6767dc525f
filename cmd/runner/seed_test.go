package main

import "prdrunner/checkpoint/store/faults/seed"

// seedOr returns the seed of a flag or, if that is 0, a seed that follows from the
// commit. So the tests try other moments in each commit, and the same moments whenever
// they run in one commit.
func seedOr(given uint64) uint64 {
	if given != 0 {
		return given
	}
	return seed.OfCommit()
}
