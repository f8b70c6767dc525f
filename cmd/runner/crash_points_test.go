//go:build unix

package main

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	crashEvery = flag.Int("crash.every", 0, "have each n-th operation killed, torn and failed; 0: a few of each command")
	crashAt    = flag.String("crash.at", "", "only this fault, as a failure prints it")
)

// TestCrashPoints kills the real program before the nth operation that changes
// a disk, or in the middle of a write, and has operations fail, once and from
// then on, for each n of each command that changes something. After that,
// commands that only look must work, change nothing and show one boundary; what
// was shown is on record; the command again, or the next one, brings state and
// files to where they are without a fault; all of it is whole, nothing is left
// over, and nothing that was done has run again.
//
// What is written by other processes is not counted: git, and the workstreams
// with their logs and outputs.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := filepath.Join(t.TempDir(), "runner")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the command with failpoints: %v\n%s", err, out)
	}
	var sum atomic.Int64
	t.Cleanup(func() { t.Logf("%d crash points tried", sum.Load()) })
	for _, op := range crashOperations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, binary, op)
			s.prepare()
			faults := s.faults()
			if *crashAt != "" {
				faults = []string{*crashAt}
			}
			for _, fault := range faults {
				t.Run(fault, func(t *testing.T) {
					s.t = t
					s.try(fault)
				})
			}
			sum.Add(int64(len(faults)))
			t.Logf("%d operations, %d crash points tried", len(s.ops), len(faults))
		})
	}
}

// faults are what is tried.
func (s *crashSite) faults() (all []string) {
	n := len(s.ops)
	all = append(all, s.op.always...)
	if *crashEvery == 0 {
		for i, fault := range []string{"kill@%d", "torn@%d", "EIO@%d", "ENOSPC@%d+"} {
			all = append(all, fmt.Sprintf(fault, 1+(2*i+1)*n/8))
		}
		return all
	}
	for at := 1; at <= n; at += *crashEvery {
		again := at > 1 && quiet(s.ops[at-1]) && quiet(s.ops[at-2])
		if !again { // else it is killed with the same bytes on disk as one operation earlier
			all = append(all, fmt.Sprint("kill@", at))
		}
		if !again || !strings.Contains(s.ops[at-1], "/.git/") { // else it is the next of many objects of git
			all = append(all, fmt.Sprint("EIO@", at))
		}
		if strings.HasPrefix(s.ops[at-1], "write ") {
			all = append(all, fmt.Sprint("torn@", at))
		}
		if at%8 == 1 { // it ends a command early: what differs is where it begins
			all = append(all, fmt.Sprint([]string{"EIO@", "ENOSPC@"}[at/8%2], at, "+"))
		}
	}
	return all
}

// quiet reports whether an operation changes nothing that a process sees.
func quiet(op string) bool {
	kind, _, _ := strings.Cut(op, " ")
	return kind == "sync" || kind == "syncdir" || kind == "close"
}
