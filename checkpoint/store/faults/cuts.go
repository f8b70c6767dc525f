package faults

import (
	"cmp"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"prdrunner/checkpoint/store"
)

// The flags of test binaries that simulate power cuts.
var (
	// CrashDepth is how many unsynced operations may reach the disk, or get lost, out of
	// order; 0: a sample of the states at each moment.
	CrashDepth = flag.Int("crash.depth", 0, "how many unsynced operations reach the disk out of order in the states after a power cut that are tried; 0: a few states of each moment")
	crashFew   = flag.Int("crash.few", 2, "how many states of a moment are tried where a state takes long to check")
	crashSeed  = flag.Uint64("crash.seed", 0, "chooses the moments, and the states of each, where only some are tried; 0: by the commit")
)

// Without -crash.depth, a test tries fewStates of the first chosenOf states of a moment. In
// these states at most fewOps operations are out of order.
const (
	fewStates = 3
	chosenOf  = 500
	fewOps    = 2
)

// afterCut yields the states that a power cut can leave, each once, with its checksum. In
// the first state everything that was not synced is lost. It yields at most few states;
// 0: all.
func afterCut(m *store.Memory, moment uint64, few int) iter.Seq2[string, *store.Memory] {
	var all []*store.Memory
	for state := range m.CrashStates(cmp.Or(*CrashDepth, fewOps)) {
		if all = append(all, state); few > 0 && len(all) == chosenOf {
			break
		}
	}
	if few > 0 {
		random, others := rand.New(rand.NewPCG(seedOrCommit(), moment)), all[1:]
		random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		all = all[:min(few, len(all))]
	}
	return func(yield func(string, *store.Memory) bool) {
		seen := map[string]bool{}
		for _, state := range all {
			sum := state.Sum()
			if !seen[sum] && !yield(sum, state) {
				return
			}
			seen[sum] = true
		}
	}
}

// SomeCuts returns a few states that a power cut can leave after the nth operation. It is
// for tests in which the check of a state takes long.
func SomeCuts(m *store.Memory, n int64) []*store.Memory {
	var all []*store.Memory
	for _, left := range afterCut(m, uint64(n), *crashFew) {
		all = append(all, left)
	}
	return all
}

// Cut is the file system after a power cut.
type Cut struct {
	*store.Memory
	When  string
	Acked any // the value that the test had acknowledged before the cut
}

// Cuts collects the states that a power cut can leave at any moment of a test, each state
// once. If two moments have the same state, it counts for the later moment, because the
// test had acknowledged more by then.
type Cuts struct {
	t     testing.TB
	m     *store.Memory
	acked func() any

	bySum   map[string]*Cut
	all     []*Cut
	moments int
}

// WatchCuts starts to collect. acked returns what the test has acknowledged so far.
func WatchCuts(t testing.TB, m *store.Memory, acked func() any) *Cuts {
	return &Cuts{t: t, m: m, acked: acked, bySum: map[string]*Cut{}}
}

// Watched returns the file system for the test to use. Each change of a file is a moment.
func (c *Cuts) Watched() *Killed { return &Killed{FS: c.m, Each: c.addMoment} }

// addMoment adds the states of this moment.
func (c *Cuts) addMoment() {
	c.moments++
	few := fewStates
	if *CrashDepth > 0 {
		few = 0
	}
	for sum, m := range afterCut(c.m, uint64(c.moments), few) {
		at := c.bySum[sum]
		if at == nil {
			at = &Cut{Memory: m}
			c.bySum[sum] = at
			c.all = append(c.all, at)
		}
		at.Acked = c.acked()
		at.When = fmt.Sprintf("state %d, cut at moment %d (-crash.depth=%d -crash.seed=%d)", slices.Index(c.all, at), c.moments, *CrashDepth, seedOrCommit())
	}
}

// End adds the last moment, and returns all states.
func (c *Cuts) End() []*Cut {
	c.addMoment()
	c.t.Logf("%d crash states at %d moments", len(c.all), c.moments)
	return c.all
}
