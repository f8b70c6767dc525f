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
	crashEvery = flag.Int("crash.every", 0, "kill the command at every operation, tear every write, and let every n-th operation fail or the command be asked to end there; 0: do so at a few operations of every fifth command")
	crashSeed  = flag.Uint64("crash.seed", 0, "seed that chooses the operations that fail, and those after which every reading command runs; 0: a seed that follows from the commit")
	crashAt    = flag.String("crash.at", "", "try only this fault, in the form in which a failure of the test prints it")
)

// crashClosely is n where after one in n faults every reader runs and validate checks
// every byte. The others are checked with fewer readers.
const crashClosely = 5

// TestCrashPoints runs each command that changes something with a fault at its nth
// operation on the disk: a kill before the operation or in the middle of a write, a
// signal that asks the command to end, or an operation that fails, once or from then on.
// Then readers must show one boundary, and what the command printed must be on record.
//
// Finally the command is repeated, or the next command runs. State and files must become
// those of a command without a fault, whole and with nothing left over, and no completed
// workstream may run again.
//
// With -crash.every, Runner is killed at every n, and -crash.seed chooses where the other
// faults happen and after which faults every reader runs. Operations of other processes
// are not counted: those of git, and of workstreams with their logs and outputs.
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
		if *crashEvery == 0 && *crashAt == "" && !inSample(i, 5) {
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
			if s.met < len(faults)*9/10 { // the number of operations varies a little between runs
				t.Errorf("%d of %d crash points were met", s.met, len(faults))
			}
		})
	}
}

// faults returns the faults that are tried. The seed chooses the operations.
func (s *crashSite) faults(seed int) (all []string) {
	n := len(s.ops)
	all = append(all, s.op.always...)
	lasting := func(at int) string {
		return fmt.Sprintf("%s@%d+", []string{"EIO", "ENOSPC", "EDQUOT"}[(n+at+seed)%3], at)
	}
	if *crashEvery == 0 {
		spread := func(i, of int) int { return 1 + ((2*i+1)*n/(2*of)+seed)%n } // the i-th of that many operations, evenly spaced
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
		if !again { // a second kill would find the same bytes on disk as the one before
			all = append(all, fmt.Sprint("kill@", at))
		}
		if strings.HasPrefix(s.ops[at-1], "write ") {
			all = append(all, fmt.Sprint("torn@", at))
		}
		if (at+seed)%*crashEvery == 0 {
			all = append(all, fmt.Sprint("EIO@", at))
		}
		if (at+seed)%(3**crashEvery) == 0 { // fewer, because such a fault ends a command early: only its first operation matters
			all = append(all, lasting(at))
		}
		if round := at + seed; round%(2**crashEvery) == 0 {
			all = append(all, s.asked(at, round/(2**crashEvery))...)
		}
	}
	return all
}

// asked returns a fault in which a signal asks the command to end, and none for a build,
// which handles signals in a way of its own.
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

// quiet reports whether an operation changes nothing that another process can see.
func quiet(op string) bool {
	kind, _, _ := strings.Cut(op, " ")
	return kind == "sync" || kind == "syncdir" || kind == "close"
}
