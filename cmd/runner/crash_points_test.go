//go:build unix

package main

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	crashEvery = flag.Int("crash.every", 0, "have it killed at every operation and torn in every write, and have each n-th operation fail, or it asked to end there; 0: a few of every third command")
	crashSeed  = flag.Uint64("crash.seed", 0, "which of n operations fail, and where all readers look; 0: one of the commit")
	crashAt    = flag.String("crash.at", "", "only this fault, as a failure prints it")
)

// crashClosely is how many faults there are to one after which all readers look.
const crashClosely = 5

// TestCrashPoints kills the real program before the nth operation that changes
// a disk, or in the middle of a write, asks it to end by a signal, and has
// operations fail, once and from then on, for each n of each command that changes
// something. After that,
// commands that only look must work, change nothing and show one boundary; what
// was shown is on record; the command again, or the next one, brings state and
// files to where they are without a fault; all of it is whole, nothing is left
// over, and nothing that was done has run again.
//
// With -crash.every it is killed at every n. At which it is asked to end, which operations fail, and after
// which faults all readers look, and not only some, is chosen by -crash.seed.
//
// What is written by other processes is not counted: git, and the workstreams
// with their logs and outputs.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t, "failpoint")
	var sum atomic.Int64
	seed := seedOr(*crashSeed)
	t.Cleanup(func() { t.Logf("%d crash points met, -crash.seed=%d", sum.Load(), seed) })
	for i, op := range crashOperations() {
		if *crashEvery == 0 && *crashAt == "" && !inSample(i, 3) {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, binary, op)
			s.prepare()
			faults := s.faults(int(seed % (1 << 24)))
			if *crashAt != "" {
				faults = []string{*crashAt}
			}
			for i, fault := range faults {
				t.Run(fault, func(t *testing.T) {
					s.t = t
					s.closely = *crashAt != "" || (uint64(i)+seed)%crashClosely == 0 || s.op.undoes && !isKill(fault)
					s.try(fault)
				})
			}
			sum.Add(int64(s.met))
			t.Logf("%d operations, %d crash points met, ended by a signal at %d", len(s.ops), s.met, s.ended)
			if s.met < len(faults)*9/10 { // some operations come in one run and not in the next
				t.Errorf("%d of %d crash points were met", s.met, len(faults))
			}
		})
	}
}

// faults are what is tried. The seed says at which operations.
func (s *crashSite) faults(seed int) (all []string) {
	n := len(s.ops)
	all = append(all, s.op.always...)
	lasting := func(at int) string {
		return fmt.Sprintf("%s@%d+", []string{"EIO", "ENOSPC", "EDQUOT"}[(n+at+seed)%3], at)
	}
	if *crashEvery == 0 {
		spread := func(i, of int) int { return 1 + ((2*i+1)*n/(2*of)+seed)%n } // the i-th of so many operations
		for i, fault := range []string{"kill", "torn", "EIO"} {
			all = append(all, fmt.Sprintf("%s@%d", fault, spread(i, 4)))
		}
		for i := range askingSignals() {
			all = append(all, s.asked(spread(i, 3), i)...)
		}
		return append(all, lasting(spread(3, 4)))
	}
	for at := 1; at <= n; at++ {
		again := at > 1 && quiet(s.ops[at-1]) && quiet(s.ops[at-2])
		if !again { // else it is killed with the same bytes on disk as one operation earlier
			all = append(all, fmt.Sprint("kill@", at))
		}
		if strings.HasPrefix(s.ops[at-1], "write ") {
			all = append(all, fmt.Sprint("torn@", at))
		}
		if (at+seed)%*crashEvery == 0 {
			all = append(all, fmt.Sprint("EIO@", at))
		}
		if (at+seed)%(3**crashEvery) == 0 { // it ends a command early: what differs is where it begins
			all = append(all, lasting(at))
		}
		if round := at + seed; round%(2**crashEvery) == 0 {
			all = append(all, s.asked(at, round/(2**crashEvery))...)
		}
	}
	return all
}

// asked has a signal ask the command to end. A run acts on signals by itself.
func (s *crashSite) asked(at, which int) []string {
	if s.op.runs {
		return nil
	}
	all := askingSignals()
	return []string{fmt.Sprintf("%s@%d", all[which%len(all)], at)}
}

func askingSignals() []string { return []string{"SIGINT", "SIGTERM", "SIGQUIT"} }

func isSignal(fault string) bool { return strings.HasPrefix(fault, "SIG") }

func isKill(fault string) bool {
	return strings.HasPrefix(fault, "kill") || strings.HasPrefix(fault, "torn")
}

// quiet reports whether an operation changes nothing that a process sees.
func quiet(op string) bool {
	kind, _, _ := strings.Cut(op, " ")
	return kind == "sync" || kind == "syncdir" || kind == "close"
}
