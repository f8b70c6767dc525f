package main

import "prdrunner/checkpoint/store/faults/seed"

// seedOr returns the seed that a flag gives, or one that follows from the commit if
// the flag is 0: each commit tries other moments than the last one, and the same ones
// whenever its tests run.
func seedOr(given uint64) uint64 {
	if given != 0 {
		return given
	}
	return seed.OfCommit()
}
