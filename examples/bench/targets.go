package main

// target is a limit for a figure of Runner at full size: a ratio, a time, an amount of
// memory or a count.
type target struct {
	what   string
	unit   string
	atMost float64
	is     func(r report) (float64, bool)
	floor  func(r report) (float64, bool) // the same figure for a program that does only the necessary work; nil: not known
}

// measured is a target with the measured figure.
type measured struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit,omitempty"` // "" for a ratio
	Is     float64 `json:"is"`
	AtMost float64 `json:"at_most"`
	Floor  float64 `json:"floor,omitempty"` // 0: not known
}

// measure returns the figures for those targets whose contests were held.
func (r report) measure(all []target) []measured {
	var found []measured
	for _, t := range all {
		is, ok := t.is(r)
		if !ok {
			continue
		}
		m := measured{What: t.what, Unit: t.unit, Is: is, AtMost: t.atMost}
		if t.floor != nil {
			if floor, ok := t.floor(r); ok {
				m.Floor = floor
			}
		}
		found = append(found, m)
	}
	return found
}

func targets(n sizes) []target {
	run, more, chain := runName("wide", n.wide), runName("wide", n.many), runName("deep", n.chain)
	const each = "runner, for_each"
	return []target{
		{"commands from for_each, to make", "", 1.25, ratio(run, each, run, "make"), ratio(run, recordFloorName, run, "make")},
		{"commands in an emptied directory, to make", "", 1.15, ratio(emptiedRun, each, emptiedRun, "make"), nil},
		// The floor includes the time to parse the blocks.
		{
			"commands from blocks, to make", "", 1.35, ratio(run, "runner", run, "make"),
			quotient(sum(figure(seconds, run, recordFloorName), figure(seconds, validateLong, parserName)), figure(seconds, run, "make")),
		},
		{
			"commands in a chain, to make", "", 1.3, ratio(chain, "runner", chain, "make"),
			quotient(sum(figure(seconds, chain, recordFloorName), figure(seconds, chain, parserName)), figure(seconds, chain, "make")),
		},
		{"ten times as many, to these", "", 11, ratio(more, each, run, each), ratio(more, recordFloorName, run, recordFloorName)},
		{"memory of as many", " MB", 600, figure(megabytes, more, each), nil},
		{"memory, for_each", " MB", 80, figure(megabytes, run, each), nil},
		{"memory, blocks", " MB", 170, figure(megabytes, run, "runner"), nil},
		{"own CPU a workstream, above the floor", " µs", 150, aboveFloor(ownCPU, each, n.wide), nil},
		{"instances from a result, to those from constants", "", 1.2, ratio(fanOutName, "over a result", fanOutName, "over constants"), nil},
		{"steps in work trees, to make with cp", "", 1.5, ratio(isolateName, "runner, isolate", isolateName, "make, cp"), nil},
		{"a run on a terminal, to one that shows nothing", "", 1.05, ratio(terminalName, "live", terminalName, "quiet"), nil},
		{"calls, to builds of the same", "", 1.3, ratio(callName, "call", callName, "builds"), nil},
		{"bytes written a boundary, to those of a small run", "", 1, growth(n, each), growth(n, recordFloorName)},
		{"fsyncs a boundary, in a chain", "", 1, aBoundary(fsyncs, durableChain, "runner", n.chain), nil},
		{"fsyncs a boundary, side by side", "", 0.1, aBoundary(fsyncs, durableWide, each, n.wide), nil},
		{"plan of done workstreams, for_each", " s", 0.25, figure(seconds, planDone, each), nil},
		{"plan of done workstreams, blocks", " s", 0.6, figure(seconds, planDone, "runner"), nil},
		{"plan with unchanged inputs, to git status", "", 2, ratio(planInputs, "runner", planInputs, "git status"), ratio(planInputs, floorName, planInputs, "git status")},
		{"validate blocks, to hclsyntax", "", 1.6, ratio(validateLong, "runner", validateLong, parserName), nil},
		{"validate for_each", " s", 0.2, figure(seconds, validateLong, each), nil},
		{"version, to its imports", "", 1.3, ratio(start, "runner version", start, "its imports"), nil},
		{"validate the cashier example, to its imports", "", 3, ratio(start, "runner validate", start, "its imports"), nil},
		{"first capture, to restic", "", 0.35, ratio(captureFirst, "runner", captureFirst, "restic"), ratio(captureFirst, floorName, captureFirst, "restic")},
		{"unchanged capture, to git status", "", 2, ratio(captureUnchanged, "runner", captureUnchanged, "git"), ratio(captureUnchanged, floorName, captureUnchanged, "git")},
		{"safety checkpoint of unchanged files, to git status", "", 3, ratio(copyUnchanged, "runner", copyUnchanged, "git"), nil},
		{"restore, to restic", "", 0.4, ratio(restore, "runner", restore, "restic"), ratio(restore, floorName, restore, "restic")},
		{"checkpoint list, above version", " s", 0.05, difference(listCheckpoints, "runner", "runner version"), nil},
		{"checkpoint prune", " s", 1, figure(seconds, pruneCheckpoints, "runner"), figure(seconds, pruneCheckpoints, floorName)},
		{"the cashier example, to by hand", "", 1.05, ratio(cashierName, "runner", cashierName, "by hand"), nil},
	}
}

// ratio returns the ratio of the times of two contestants.
func ratio(contest, who, otherContest, other string) func(r report) (float64, bool) {
	return quotient(figure(seconds, contest, who), figure(seconds, otherContest, other))
}

func sum(a, b func(r report) (float64, bool)) func(r report) (float64, bool) {
	return func(r report) (float64, bool) {
		first, ok := a(r)
		second, there := b(r)
		return first + second, ok && there
	}
}

func quotient(of, by func(r report) (float64, bool)) func(r report) (float64, bool) {
	return func(r report) (float64, bool) {
		a, ok := of(r)
		b, there := by(r)
		return a / b, ok && there
	}
}

// aBoundary returns a figure of a contestant per boundary. Each step has two boundaries,
// its start and its end.
func aBoundary(of func(sample) float64, contest, who string, steps int) func(r report) (float64, bool) {
	all := figure(of, contest, who)
	return func(r report) (float64, bool) {
		is, ok := all(r)
		return is / float64(2*steps), ok
	}
}

// figure returns the median figure of one contestant. It is false if the figure is 0,
// which means that it is not known.
func figure(of func(sample) float64, contest, who string) func(r report) (float64, bool) {
	return func(r report) (float64, bool) {
		is, ok := r.median(of, contest, who)
		return is, ok && is > 0
	}
}

func difference(contest, who, other string) func(r report) (float64, bool) {
	return func(r report) (float64, bool) {
		a, ok := r.median(seconds, contest, who)
		b, there := r.median(seconds, contest, other)
		return a - b, ok && there
	}
}

// between returns a figure of a contestant per boundary of the steps that one wide run has
// more than another. This leaves out the fixed costs of a run.
func between(of func(sample) float64, who string, less, more int) func(r report) (float64, bool) {
	first, then := figure(of, runName("wide", less), who), figure(of, runName("wide", more), who)
	return func(r report) (float64, bool) {
		a, ok := first(r)
		b, there := then(r)
		return (b - a) / float64(2*(more-less)), ok && there
	}
}

// growth returns the ratio of the bytes written per boundary in a large run to those in a
// small run.
func growth(n sizes, who string) func(r report) (float64, bool) {
	return quotient(between(bytesWritten, who, n.wide, n.many), between(bytesWritten, who, n.fewest, n.few))
}

// aboveFloor returns the CPU time per step that a contestant takes above the floor, in
// microseconds.
func aboveFloor(contest, who string, steps int) func(r report) (float64, bool) {
	return func(r report) (float64, bool) {
		a, ok := r.median(cpu, contest, who)
		b, there := r.median(cpu, contest, floorName)
		return (a - b) / float64(steps) * 1e6, ok && there
	}
}

// The names of contests and contestants that the targets use.
const (
	ownCPU           = "own CPU"
	fanOutName       = "fan-out"
	isolateName      = "work trees"
	callName         = "calls"
	terminalName     = "terminal"
	planDone         = "plan done"
	planInputs       = "plan inputs"
	validateLong     = "validate"
	start            = "start"
	captureFirst     = "capture first"
	captureUnchanged = "capture unchanged"
	captureChanged   = "capture changed"
	copyUnchanged    = "safety checkpoint, unchanged"
	restore          = "restore"
	listCheckpoints  = "list checkpoints"
	pruneCheckpoints = "prune checkpoints"
	cashierName      = "cashier"
	durableChain     = "fsyncs of a chain"
	durableWide      = "fsyncs side by side"
	floorName        = "floor"
	recordFloorName  = "floor with a record"
	parserName       = "hclsyntax"
)
