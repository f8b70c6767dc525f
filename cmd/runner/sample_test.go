package main

import (
	"flag"

	"prdrunner/checkpoint/store/faults/seed"
)

var full = flag.Bool("full", false, "try every case of each matrix, not only a sample that follows from the commit")

// inSample reports whether to try the i-th case of a matrix. Of n successive cases one is
// tried; which one depends on the commit. With -full every case is tried.
func inSample(i, n int) bool {
	return *full || (uint64(i)+seed.OfCommit())%uint64(n) == 0
}
