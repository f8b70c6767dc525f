package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long TestSoak runs with new seeds; 0: only one power cut and one crash point")

// TestSoak kills builds and rollbacks, cuts the power and tries crash points, in turns
// and each time with a new seed, for as long as the flag -soak says. A failure names the
// flags that repeat it.
func TestSoak(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the test takes seconds; left out with -short")
	}
	s := &soaking{t: t, failpoints: buildBinary(t, "failpoint")}
	if *soak == 0 { // one binary is enough
		s.binary = s.failpoints
		s.cut(cutScenarios()[0], 1)
		s.crash(crashOperations()[1], 1)
	} else {
		s.binary = buildBinary(t)
		s.takeTurns(time.Now().Add(*soak))
	}
	t.Logf("%d kills, %d power cuts, %d crash points; losses: %d", s.kills, s.cuts, s.points, s.losses)
}

// soaking is a run of TestSoak, with its binaries and counters.
type soaking struct {
	t                  *testing.T
	binary, failpoints string
	kills, cuts        int
	points, losses     int
}

// takeTurns runs rounds until the time is over or a turn has failed.
func (s *soaking) takeTurns(until time.Time) {
	s.t.Helper()
	for s.losses == 0 {
		for _, turn := range s.round() {
			if turn(); time.Now().After(until) {
				return
			}
		}
	}
}

// round returns one turn for each kind of fault and each command.
func (s *soaking) round() (turns []func()) {
	const kills, cuts, points = 5, 8, 8
	turns = append(turns,
		func() {
			s.killed("builds", kills, func(t *testing.T, seed uint64) { killBuilds(t, s.binary, kills, seed) })
		},
		func() {
			s.killed("rollbacks", kills, func(t *testing.T, seed uint64) { killRollbacks(t, s.binary, false, kills, seed) })
		},
		func() {
			s.killed("rollbacks in git", kills, func(t *testing.T, seed uint64) { killRollbacks(t, s.binary, true, kills, seed) })
		})
	for _, scenario := range cutScenarios() {
		turns = append(turns, func() { s.cut(scenario, cuts) })
	}
	for _, op := range crashOperations() {
		turns = append(turns, func() { s.crash(op, points) })
	}
	return turns
}

// turn runs one subtest with a new seed, and counts it as a loss if it fails. It reports
// whether the subtest passed.
func (s *soaking) turn(name string, drive func(t *testing.T, seed uint64)) (ended bool) {
	s.t.Helper()
	ended = s.t.Run(name, func(t *testing.T) { drive(t, rand.Uint64()) })
	if !ended {
		s.losses++
	}
	return ended
}

func (s *soaking) killed(what string, count int, drive func(t *testing.T, seed uint64)) {
	s.t.Helper()
	if s.turn("kill "+what, drive) {
		s.kills += count
	}
}

func (s *soaking) cut(scenario cutScenario, count int) {
	s.t.Helper()
	ran := false
	s.turn("cut "+scenario.name, func(t *testing.T, seed uint64) {
		t.Logf("-cut.seed=%d", seed)
		cutAtMoments(t, s.binary, scenario, count, seed)
		ran = true // not reached if the subtest was skipped
	})
	if ran {
		s.cuts += count
	}
}

// crash tries faults at operations that follow from the seed.
func (s *soaking) crash(op crashOperation, count int) {
	s.t.Helper()
	s.turn("crash "+op.name, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // moments of a test need no secrecy
		site := newCrashSite(t, s.failpoints, op)
		site.prepare()
		for range count {
			at := random.IntN(len(site.ops))
			fault := fmt.Sprintf([]string{"kill@%d", "EIO@%d", "EIO@%d+", "ENOSPC@%d", "ENOSPC@%d+"}[random.IntN(5)], at+1)
			if strings.HasPrefix(site.ops[at], "write ") && random.IntN(2) == 0 {
				fault = fmt.Sprint("torn@", at+1)
			}
			t.Logf("TestCrashPoints with -crash.at=%s", fault)
			site.try(fault)
		}
		s.points += count
	})
}
