package faults

import (
	"iter"
	"testing"

	"prdrunner/checkpoint/store/faults/seed"
)

// seedOrCommit returns -crash.seed, or the seed of the commit.
func seedOrCommit() uint64 {
	if *crashSeed != 0 {
		return *crashSeed
	}
	return seed.OfCommit()
}

// Moments yields the numbers of the operations at which a test has one fail, or kills the
// process, until the caller has come to the end: each with -crash.depth, one in seven with
// -short, and else one in five.
func Moments() iter.Seq[int64] {
	stride := uint64(5)
	switch {
	case *CrashDepth > 0:
		stride = 1
	case testing.Short():
		stride = 7
	}
	return func(yield func(int64) bool) {
		for n := 1 + seedOrCommit()%stride; yield(int64(n)); n += stride {
		}
	}
}
