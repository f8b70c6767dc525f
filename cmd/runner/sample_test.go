package main

import (
	"flag"

	"prdrunner/checkpoint/store/faults/seed"
)

var full = flag.Bool("full", false, "try every case of each matrix; else a sample that follows from the commit")

// inSample reports whether the i-th case of a matrix is tried: one in every n, which are
// others in other commits. With -full each is tried.
func inSample(i, n int) bool {
	return *full || (uint64(i)+seed.OfCommit())%uint64(n) == 0
}
