//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
)

// TestWhatSucceededIsNotRunAgain resumes a session several times, in which workstreams
// failed beside siblings that succeeded: other instances of a for_each, and one that
// needed a retry. Only workstreams that have not succeeded may run again
// (argoproj/argo-workflows 14796: a resume repeated a step that had succeeded on retry).
func TestWhatSucceededIsNotRunAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `
phase "one" {
  workstream "first" {
    script = "echo first-$RUNNER_ATTEMPT >> ran; test $RUNNER_ATTEMPT -ge 2"
    retry {
      attempts         = 3
      initial_interval = "1ms"
    }
  }
  workstream "each" {
    for_each   = toset(["x", "y", "z"])
    depends_on = [workstream.first]
    script     = "echo each-${each.key} >> ran; test ${each.key} != y -o -e good-y"
  }
  workstream "inner" {
    for_each   = { x = "1", y = "2" }
    depends_on = [workstream.each]
    script     = "echo inner-${each.value} >> ran; test ${each.key} != x -o -e good-inner"
  }
  workstream "sibling" {
    depends_on = [workstream.first]
    script     = "echo sibling >> ran; test -e good-sibling"
    retry {
      attempts         = 2
      initial_interval = "1ms"
    }
  }
  workstream "after" {
    depends_on = [workstream.first]
    script     = "echo after >> ran"
  }
  gate "check" {
    inputs = ["PRD-001.hcl"]
    script = "echo check >> ran"
  }
}
phase "two" {
  workstream "last" {
    depends_on = [workstream.inner, workstream.sibling]
    script     = "echo last >> ran; test -e good-last"
  }
}`)
	d.runs(1, "build", "PRD-001", "--keep-going")
	d.ran("first-1", "first-2", "each-x", "each-y", "each-z", "sibling", "sibling", "after")
	d.build(1, "--keep-going")
	d.ran("each-y", "sibling", "sibling")
	d.write("good-y", "")
	d.build(1, "--keep-going")
	d.ran("each-y", "inner-1", "inner-2", "sibling", "sibling")
	d.write("good-sibling", "")
	d.build(1, "--keep-going")
	d.ran("inner-1", "sibling")
	d.write("good-inner", "")
	d.build(1)
	d.ran("inner-1", "check", "last")
	d.build(1)
	d.ran("last")
	d.write("good-last", "")
	d.build(0)
	d.ran("last")
	d.build(6)
	d.ran()
}

// fallible is a pipeline in which most steps fail, each for a different reason, until the
// test writes the file mended-… of that step.
const fallible = `
phase "one" {
  workstream "A" { script = "echo A >> ran; echo from=A >> $RUNNER_OUTPUT" }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B-$(test -z '${workstream.A.outputs.from}' || echo ok) >> ran; test -e mended-b"
  }
}
phase "two" {
  workstream "C" {
    depends_on = [workstream.B]
    script     = "echo C >> ran; mkdir -p out; echo c > out/c.txt"
    artifacts  = ["out/c.txt"]
    gate "check" {
      inputs = ["mended-check"]
      script = "echo check >> ran; test -e mended-check"
    }
  }
  workstream "D" {
    depends_on = [workstream.C]
    script     = "echo D >> ran; echo > started-d; test -e mended-d || exec sleep 100"
  }
}
phase "three" {
  workstream "E" {
    depends_on = [workstream.D]
    script     = "echo E >> ran; mkdir -p out; test ! -e mended-e || echo e > out/e.txt"
    artifacts  = ["out/e.txt"]
  }
  workstream "F" {
    depends_on = [workstream.E]
    script     = "echo F >> ran; test -e mended-f || exec sleep 100"
    timeout    = "FTIMEOUT"
  }
  gate "sign-off" {
    inputs = ["out/*.txt"]
    approval { message = "Good?" }
  }
}
phase "four" {
  workstream "G" {
    script = "echo G >> ran; test -e mended-g || { rm -rf .runner/PRD-001/checkpoints; echo > .runner/PRD-001/checkpoints; }"
  }
}
phase "five" {
  workstream "H" { script = "echo H >> ran" }
}
`

// TestEachResumeGoesOnFromTheLast resumes one session many times, and each run ends in
// another way: failure, kill, interrupt, timeout, pause. A step that completed in any
// earlier run must not run again (dagster-io/dagster 4087: the second resume knew only
// the steps of the first).
func TestEachResumeGoesOnFromTheLast(t *testing.T) {
	t.Parallel()
	d := newDesk(t, strings.Replace(fallible, "FTIMEOUT", "200ms", 1))
	killed := func(with syscall.Signal) func() {
		return func() {
			d.remove("started-d")
			d.end(d.start("started-d", "--resume"), with)
		}
	}
	exits := func(code int) func() { return func() { d.build(code) } }
	steps := []struct {
		name string
		run  func()
		ran  []string
		mend string
	}{
		{"a step fails", func() { d.runs(1, "build", "PRD-001") }, []string{"A", "B-ok"}, ""},
		{"it fails again", exits(1), []string{"B-ok"}, "mended-b"},
		{"a gate fails", exits(1), []string{"B-ok", "C", "check"}, ""},
		{"it fails again", exits(1), []string{"check"}, "mended-check"},
		{"the runner is killed", killed(syscall.SIGKILL), []string{"check", "D"}, ""},
		{"it is killed again", killed(syscall.SIGKILL), []string{"D"}, ""},
		{"it is terminated", killed(syscall.SIGTERM), []string{"D"}, ""},
		{"it is interrupted", killed(syscall.SIGINT), []string{"D"}, "mended-d"},
		{"an artifact is missing", exits(1), []string{"D", "E"}, "mended-e"},
		{"a step takes too long", exits(1), []string{"E", "F"}, "mended-f"},
		{"an approval is asked for", exits(3), []string{"F"}, ""},
		{"nobody answers", exits(3), nil, ""},
		{"it is given, and a checkpoint can't be written", func() { d.runs(0, "approve", "PRD-001"); d.build(3) }, []string{"G"}, "mended-g"},
	}
	for i, s := range steps {
		s.run()
		t.Logf("resume %d: %s", i, s.name)
		d.ran(s.ran...)
		if s.mend != "" {
			d.write(s.mend, "")
		}
	}
	d.remove(".runner/PRD-001/checkpoints")
	d.build(0)
	d.ran("H")
	d.build(6)
	d.ran()
}

// TestEachResumeGoesOnFromARollback rolls a session back several times and resumes it.
// The workstreams that the rollback discarded must run again, the others must not, also
// after more failures and kills, and after a rollback that was undone.
func TestEachResumeGoesOnFromARollback(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
}
phase "two" {
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; mkdir -p out; echo b >> out/b.txt"
    artifacts  = ["out/b.txt"]
    gate "ask" {
      approval { message = "Good?" }
    }
  }
}
phase "three" {
  workstream "C" {
    depends_on = [workstream.B]
    script     = "echo C >> ran; test ! -e slow || { echo > started; exec sleep 100; }"
  }
}
phase "four" {
  workstream "D" {
    depends_on = [workstream.C]
    script     = "echo D >> ran; test -e good"
  }
}`)
	d.runs(3, "build", "PRD-001")
	d.runs(0, "approve", "PRD-001")
	d.build(1)
	d.ran("A", "B", "C", "D")
	for range 2 { // back to the moment after the approval
		d.runs(1, "build", "PRD-001", "--resume=2", "--yes")
		d.ran("C", "D")
		d.build(1)
		d.ran("D")
	}
	d.runs(3, "build", "PRD-001", "--resume=1", "--yes") // back to when A had completed
	d.ran("B")
	d.runs(3, "build", "PRD-001", "--resume=0", "--yes") // back to the start
	d.ran("A", "B")
	d.holds("out/b.txt", "b")
	d.build(3)
	d.ran()
	d.runs(0, "approve", "PRD-001")
	d.write("slow", "")
	d.end(d.start("started", "--resume"), syscall.SIGKILL)
	d.ran("C")
	d.remove("slow")
	d.build(1)
	d.ran("C", "D")
	d.runs(0, "checkpoint", "rollback", "PRD-001", "1", "--yes")
	undo := d.undo()
	d.runs(0, "checkpoint", "rollback", "PRD-001", undo, "--yes")
	d.build(1) // as if there had been no rollback
	d.ran("D")
	d.write("good", "")
	d.build(0)
	d.ran("D")
}

// undo returns the checkpoint that undoes the last rollback.
func (d *desk) undo() string {
	d.t.Helper()
	_, rest, found := strings.Cut(d.out, "checkpoint rollback PRD-001 CP-")
	if !found {
		d.t.Fatalf("the rollback does not say how to undo it:\n%s", d.out)
	}
	return "CP-" + strings.Fields(rest)[0]
}
