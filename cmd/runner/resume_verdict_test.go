//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// judged is a pipeline in which B must not run before a gate has passed. The gate takes
// the place of OF_A or of OF_PHASE.
const judged = `
phase "one" {
  workstream "A" {
    script = "echo A >> ran; echo metric.size=5 >> $RUNNER_OUTPUT"
    OF_A
  }
  OF_PHASE
}
phase "two" {
  workstream "B" { script = "echo B >> ran" }
}
`

// judgedBy returns the pipeline judged with a gate at one of its two places.
func judgedBy(place, gate string) string {
	return strings.NewReplacer(place, gate, "OF_A", "", "OF_PHASE", "").Replace(judged)
}

// TestNothingThatIsNotPassedCountsAsPassed lets a gate end in every way other than
// passing, and resumes the session in several ways. The gate must not count as passed and
// B must not run, until the gate passes (rocky-data/rocky 1734: the resume found all work
// done, did not judge the gate, and reported success).
func TestNothingThatIsNotPassedCountsAsPassed(t *testing.T) {
	t.Parallel()
	ends := []struct {
		name, gate string
		first      int           // exit code of the first build
		again      int           // exit code of a resume without a repair
		mend       func(d *desk) // makes the gate pass; nil: a file named good does
	}{
		{"it failed", `gate "check" { script = "test -e good" }`, 1, 1, nil},
		{"it was ended by a signal", `gate "check" { script = "test -e good || kill -KILL $$" }`, 1, 1, nil},
		{"it took too long", `gate "check" {
  script  = "test -e good || exec sleep 100"
  timeout = "20ms"
}`, 1, 1, func(d *desk) { d.write("good", ""); d.pipeline(strings.Replace(d.source, "20ms", "1h", 1)) }},
		{"there is no such program", `gate "check" { command = ["./good"] }`, 1, 1, func(d *desk) {
			d.pipeline(strings.Replace(d.source, `"./good"`, `"true"`, 1))
		}},
		{"its condition is false", `gate "check" {
  condition     = metric.size > 5
  error_message = "too small"
}`, 1, 1, func(d *desk) { d.pipeline(strings.Replace(d.source, "> 5", "> 4", 1)) }},
		{"its metric is too low", `gate "check" {
  metric = "size"
  min    = 6
}`, 1, 1, func(d *desk) { d.pipeline(strings.Replace(d.source, "= 6", "= 5", 1)) }},
		{"nobody reported its metric", `gate "check" {
  metric = "weight"
  min    = 1
}`, 1, 1, func(d *desk) { d.pipeline(strings.Replace(d.source, "weight", "size", 1)) }},
		{"what it refers to is not there", `gate "check" {
  condition     = metric.weight > 5
  error_message = "too light"
}`, 1, 1, func(d *desk) { d.pipeline(strings.Replace(d.source, "metric.weight", "1 + metric.size", 1)) }},
		{"what it judges can't be read", `gate "check" {
  inputs = ["fifo/*"]
  script = "test -e good"
}`, 1, 1, func(d *desk) { d.remove("fifo"); d.write("good", "") }},
		{"what it judges changes meanwhile", `gate "check" {
  inputs = ["moving.txt"]
  script = "test -e good || echo x >> moving.txt"
}`, 1, 1, nil},
		{"it was rejected", `gate "check" {
  approval { message = "Good?" }
}`, 3, 3, func(d *desk) { d.runs(0, "approve", "PRD-001") }},
	}
	for _, place := range []string{"OF_A", "OF_PHASE"} {
		label := map[string]string{"OF_A": "check (A)", "OF_PHASE": "check (one)"}[place]
		for _, e := range ends {
			t.Run(fmt.Sprintf("%s, %s", e.name, place), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, judgedBy(place, e.gate))
				d.write("moving.txt", "x")
				if strings.Contains(e.gate, "fifo") {
					d.write("fifo/a", "")
					d.remove("fifo/a")
					if err := syscall.Mkfifo(d.path("fifo/a"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				d.runs(e.first, "build", "PRD-001")
				d.ran("A")
				if e.name == "it was rejected" {
					d.runs(0, "reject", "PRD-001")
					d.notPassed(label, "B")
					d.build(3)
					d.ran("A")
				}
				for _, args := range [][]string{nil, {"--keep-going"}, {"--only", "B"}, {"--resume=auto"}} {
					d.runs(e.again, append([]string{"build", "PRD-001", "--resume"}, args...)...)
					d.ran()
					d.notPassed(label, "B")
				}
				if e.mend == nil {
					d.write("good", "")
				} else {
					e.mend(d)
				}
				d.build(0)
				d.ran("B")
				d.stands(label, "passed")
			})
		}
	}
}

// notPassed checks the status and the PRD document: the gate must not be passed, the
// workstream behind must be pending, and the session must not be complete.
func (d *desk) notPassed(gate, behind string) {
	d.t.Helper()
	st, doc := d.status(), d.document()
	if st[gate] == "passed" || st[gate] == "skipped" || slices.Contains(doc.GatesPassed, gate) || !slices.Contains(doc.GatesPending, gate) {
		d.t.Errorf("the gate %s is %s in the status; the PRD document is %+v", gate, st[gate], doc)
	}
	if st[behind] != "pending" || !slices.Contains(doc.Pending, behind) {
		d.t.Errorf("the workstream %s is %s in the status; the PRD document is %+v", behind, st[behind], doc)
	}
	if st["PRD-001"] == "complete" || doc.Status == "complete" {
		d.t.Errorf("the session is %s in the status and %s in the PRD document", st["PRD-001"], doc.Status)
	}
}

// TestNoVerdictIsNoPass ends the runner while a gate is judged, when the workstream has
// already completed. The next builds must judge the gate again, and B must not run before
// the gate has passed.
func TestNoVerdictIsNoPass(t *testing.T) {
	t.Parallel()
	for _, with := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		for _, place := range []string{"OF_A", "OF_PHASE"} {
			t.Run(fmt.Sprint(with, ", ", place), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, judgedBy(place, `gate "check" { script = "echo check >> ran; until grep -q completed .runner/PRD-001/journal.jsonl || grep -q succeeded .runner/PRD-001/journal.jsonl; do sleep 0.01; done; echo > judging; test -e go || exec sleep 100; test -e good" }`))
				d.end(d.start("judging"), with)
				d.write("go", "")
				d.build(1)
				d.ran("A", "check", "check")
				d.build(1)
				d.ran("check")
				d.write("good", "")
				d.build(0)
				d.ran("check", "B")
			})
		}
	}
}

// TestSkippedIsNotPassed builds a pipeline in which `when` disables workstreams and a
// phase. They and their gates must show as skipped, not as completed or passed, and must
// run as soon as a variable enables them.
func TestSkippedIsNotPassed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `
variable "deploy" {
  type    = bool
  default = false
}
---
phase "one" {
  workstream "A" { script = "echo A >> ran" }
  workstream "some" {
    when   = var.deploy
    script = "echo some >> ran; echo metric.size=5 >> $RUNNER_OUTPUT"
    gate "own" { command = ["true"] }
    gate "asks" {
      approval { message = "Good?" }
    }
  }
  workstream "after" {
    depends_on = [workstream.some]
    run_on     = "always"
    script     = "echo after >> ran"
  }
  gate "both" { command = ["true"] }
}
phase "all" {
  workstream "none" {
    when   = var.deploy
    script = "echo none >> ran"
  }
  gate "of_none" { command = ["true"] }
}
phase "off" {
  when = var.deploy
  workstream "off1" {
    script = "echo off1 >> ran"
    gate "own" { command = ["true"] }
  }
  gate "of_off" { command = ["true"] }
}
phase "last" {
  workstream "end" { script = "echo end >> ran; test -e good" }
}
`)
	skipped := []string{"some", "own (some)", "asks (some)", "none", "of_none (all)", "phase all", "off1", "own (off1)", "of_off (off)", "phase off"}
	d.runs(1, "build", "PRD-001")
	d.ran("A", "after", "end")
	for range 2 {
		st, doc := d.status(), d.document()
		for _, name := range skipped {
			if st[name] != "skipped" {
				t.Errorf("%s is %s, want skipped", name, st[name])
			}
		}
		if !slices.Equal(doc.GatesPassed, []string{"both (one)"}) || slices.Contains(doc.Completed, "some") || slices.Contains(doc.Completed, "none") || slices.Contains(doc.Completed, "off1") {
			t.Errorf("the PRD document counts skipped steps as completed or passed: %+v", doc)
		}
		d.build(1)
		d.ran("end")
	}
	d.write("good", "")
	d.build(3, "--var", "deploy=true")
	d.ran("some")
	d.runs(0, "approve", "PRD-001")
	d.build(0, "--var", "deploy=true")
	d.ran("after", "none", "off1", "end")
}

// TestAGateOfWhatWasSkippedGivesNothing skips the workstream that reports the metric or
// output of a gate, after the gate had passed with it. The gate must fail.
func TestAGateOfWhatWasSkippedGivesNothing(t *testing.T) {
	t.Parallel()
	for name, gate := range map[string]string{
		"a metric": `gate "check" {
  metric = "size"
  min    = 1
}`,
		"a condition": `gate "check" {
  condition     = metric.size > 1
  error_message = "small"
}`,
		"an output": `gate "check" {
  condition     = workstream.gives.outputs.size == "5"
  error_message = "other"
}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `
variable "on" {
  type    = bool
  default = true
}
---
phase "one" {
  workstream "gives" {
    when   = var.on
    script = "echo gives >> ran; printf 'size=5\nmetric.size=5\n' >> $RUNNER_OUTPUT"
  }
  workstream "A" { script = "echo A >> ran" }
  `+gate+`
}
phase "two" {
  workstream "B" { script = "echo B >> ran; test -e good" }
}`)
			d.runs(1, "build", "PRD-001")
			d.ran("gives", "A", "B")
			d.build(1, "--var", "on=false") // the gate passed in the first build
			d.ran()
			d.stands("check (one)", "failed")
			d.build(1)
			d.ran("gives", "B")
		})
	}
}
