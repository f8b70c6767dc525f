package main

import (
	"slices"
	"strings"
	"testing"
)

// gatedPipeline runs WS1, waits for an approval, and runs WS2.
const gatedPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { script = "echo ran >> ran; echo $$ > pid.tmp; mv pid.tmp pid; until test -e go; do sleep 0.02; done" }
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }
  phase "two" {
    workstream "WS2" { script = "echo ran >> ran2" }
  }
}`

// TestManyRequestsAtOnceAreEachAnsweredOnce sends many requests to a running build at the
// same moment, and starts more builds. Each request that exits with 0 must be on record
// once. No other request may be on record, and no other build may run.
func TestManyRequestsAtOnceAreEachAnsweredOnce(t *testing.T) {
	t.Parallel()
	rounds(t, func(t *testing.T) {
		dir := newWorkspace(t, gatedPipeline)
		owner := launch(t, dir, "build", "PRD-001")
		awaitPID(t, dir, "pid")
		s := newStorm(t, dir)
		crowd := s.mixed([][]string{
			{"checkpoint", "create", "PRD-001"}, {"pause", "PRD-001"}, {"approve", "PRD-001"}, {"build", "PRD-001", "--resume"}, {"status", "PRD-001", "--json"},
		})
		s.open()
		done := s.codes(crowd, map[string][]int{
			"checkpoint": {exitComplete}, "pause": {exitComplete}, "approve": {exitUsage}, "build": {exitLocked}, "status": {exitComplete},
		})
		write(t, dir, "go")
		owner.exits(exitPaused)
		counts := s.events()
		if created := checkpointsBy(t, dir, "manual"); created != done["checkpoint"] || counts["pause.requested"] != done["pause"] {
			t.Errorf("%d creations and %d pauses exited 0, and there are %d checkpoints and %d requests", done["checkpoint"], done["pause"], created, counts["pause.requested"])
		}
		if counts["gate.approved"] != 0 || counts["session.resumed"] != 0 || lines(t, dir, "ran") != 1 {
			t.Errorf("want no approval, no resume and one run of WS1; the journal has %v, WS1 ran %d times", counts, lines(t, dir, "ran"))
		}
	})
}

// TestManyAtOnceWithoutAnOwner has a session that waits for an approval and that no
// runner owns. Many commands approve it, make checkpoints and resume it at the same
// moment. The gate must be approved once, and WS2 must run once.
func TestManyAtOnceWithoutAnOwner(t *testing.T) {
	t.Parallel()
	rounds(t, func(t *testing.T) {
		dir := newWorkspace(t, gatedPipeline)
		write(t, dir, "go")
		run(t, dir, exitPaused, "build", "PRD-001")
		s := newStorm(t, dir)
		crowd := s.mixed([][]string{
			{"checkpoint", "create", "PRD-001"}, {"approve", "PRD-001"}, {"build", "PRD-001", "--resume"}, {"checkpoint", "list", "PRD-001", "--json"},
		})
		s.open()
		done := s.codes(crowd, map[string][]int{
			// create is refused if it asks a build that ends at this moment.
			"checkpoint": {exitComplete, exitUsage},
			"approve":    {exitComplete, exitUsage},
			"build":      {exitComplete, exitPaused, exitLocked, exitDamaged, exitAlreadyComplete},
		})
		if done["approve"] != 1 {
			t.Errorf("%d approvals exited 0, want 1", done["approve"])
		}
		last := launch(t, dir, "build", "PRD-001", "--resume")
		if code := last.wait(); code != exitComplete && code != exitAlreadyComplete {
			t.Errorf("the last build exits %d: %s", code, last.stderr.String())
		}
		counts := s.events()
		if counts["gate.approved"] != 1 || counts["session.completed"] != 1 || lines(t, dir, "ran") != 1 || lines(t, dir, "ran2") != 1 {
			t.Errorf("the journal has %v; WS1 ran %d times, WS2 %d times", counts, lines(t, dir, "ran"), lines(t, dir, "ran2"))
		}
	})
}

// mixed adds -storm.runners runners that are spread evenly over the command lines.
func (s *storm) mixed(commands [][]string) []*launched {
	s.t.Helper()
	var all [][]string
	for len(all) < *stormRunners {
		all = append(all, commands[len(all)%len(commands)])
	}
	for _, args := range s.shuffled(all) {
		s.join(args...)
	}
	return s.crowd
}

// codes waits for the runners and checks their exit codes against those allowed for their
// command. It returns how many of each command exited 0, not counting those with --json,
// which only read.
func (s *storm) codes(crowd []*launched, allowed map[string][]int) map[string]int {
	s.t.Helper()
	done := map[string]int{}
	for _, l := range crowd {
		code := l.wait()
		args := l.cmd.Args[4:] // sh -c script gate
		if !slices.Contains(allowed[args[0]], code) {
			s.t.Errorf("%q exits %d: %s", args, code, l.stderr.String())
		}
		if code == 0 && !slices.Contains(args, "--json") {
			done[args[0]]++
		}
	}
	return done
}

// checkpointsBy returns the number of checkpoints with a trigger.
func checkpointsBy(t *testing.T, dir, trigger string) int {
	t.Helper()
	return strings.Count(run(t, dir, 0, "checkpoint", "list", "PRD-001"), trigger)
}
