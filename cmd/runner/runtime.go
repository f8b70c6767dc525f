package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// untouched is how large the heap becomes before anything of it is collected,
	// in percent of the 4 MiB with which Go begins: 64 MiB; untouchedBuild is that of
	// a build, which is under way for long: 48 MiB.
	untouched      = 1500
	untouchedBuild = 1100
	// spare is how much garbage there may be from then on, in percent of what is in
	// use: a run keeps its memory for as long as what it runs needs some.
	spare = 75

	// mostWaiting is for how many tasks room is made to wait in: a quarter of all
	// room is taken while garbage is collected.
	mostWaiting = 16
)

// collectLate has the first collection wait until there is something to collect.
// What a command begins with, the pipeline and the journal, it needs to its end:
// looking for garbage in it again and again as it grew took a fifth of the time.
// Where GOGC is set, that counts instead.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(untouched)
	first := new(*byte) // goes with the first collection
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, spare)
}

// collectForBuild is collectLate for a build, which calls it before it reads anything.
func collectForBuild() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(untouchedBuild)
	}
}

// makeRoomToWait gives each goroutine that waits for a task one of what Go lets
// goroutines run with, and has one to spare: without it, Go looks every 20 µs whose
// it could take back, which took a tenth of the CPU time of a run of short tasks.
// Where GOMAXPROCS is set, that counts instead.
func makeRoomToWait(tasks int) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	if tasks == 0 {
		tasks = runtime.NumCPU()
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + min(tasks, mostWaiting) + 1)
}
