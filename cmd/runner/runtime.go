package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// untouched is how large the heap becomes before the first garbage collection, in
	// percent of the 4 MiB with which Go begins: 92 MiB. For 50,000 unchanged inputs, plan
	// allocates less, and nearly all of that stays in use. untouchedBuild is the same for a
	// build, which runs for longer: 44 MiB.
	untouched      = 2300
	untouchedBuild = 1100
	// spare is how much garbage may accumulate after the first collection, in percent of
	// the memory in use. A run keeps its memory for as long as the processes that it runs
	// need memory.
	spare = 75

	// mostWaiting bounds the number of tasks for which makeRoomToWait raises GOMAXPROCS,
	// because a garbage collection uses a quarter of GOMAXPROCS.
	mostWaiting = 16
)

// collectLate delays the first garbage collection until there is something to collect. A
// command keeps the pipeline and the journal, which it reads first, until it ends.
// Searching them for garbage again and again as they grew took a fifth of the time. If
// GOGC is set, collectLate does nothing.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(untouched)
	first := new(*byte) // the first collection frees it, and so sets spare
	runtime.AddCleanup(first, func(percent int) {
		if before := debug.SetGCPercent(percent); before != untouched && before != untouchedBuild {
			debug.SetGCPercent(before) // the command has chosen another percentage
		}
	}, spare)
}

// collectForBuild delays the first garbage collection of a build, which calls it before it
// reads anything.
func collectForBuild() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(untouchedBuild)
	}
}

// makeRoomToWait raises GOMAXPROCS by one for each goroutine that waits for a task, and by
// one to spare. Without a spare processor, Go checks every 20 µs which processor it can
// take back from a waiting goroutine, which took a tenth of the CPU time of a run of short
// tasks. If GOMAXPROCS is set, makeRoomToWait does nothing.
func makeRoomToWait(tasks int) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	if tasks == 0 {
		tasks = runtime.NumCPU()
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + min(tasks, mostWaiting) + 1)
}
