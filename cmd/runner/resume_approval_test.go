//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// approvals holds pipelines in which B must not run before the gate sign-off is approved.
// The field last is the phase of B, gate is the label of sign-off.
var approvals = []struct{ name, source, last, gate string }{
	{"of a phase", `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
  gate "sign-off" {
    approval {
      message = "Ship it?"
    }
  }
}
phase "two" {
  workstream "B" { script = "echo B >> ran" }
}`, "two", "sign-off (one)"},
	{"of a workstream that B depends on", `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "sign-off" {
      approval {
        message = "Ship it?"
      }
    }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran"
  }
}`, "one", "sign-off (A)"},
	{"of one workstream of the phase before", `
phase "one" {
  workstream "each" {
    for_each = toset(["x", "y"])
    script   = "echo A >> ran"
  }
  workstream "last" {
    depends_on = [workstream.each]
    script     = "echo A >> ran"
    gate "sign-off" {
      approval {
        message = "Ship it?"
      }
    }
  }
}
phase "two" {
  workstream "B" {
    depends_on = [workstream.each]
    script     = "echo B >> ran"
  }
}`, "two", "sign-off (last)"},
}

// hasRun returns the words that scripts have added to the file ran, and removes the file.
func (d *desk) hasRun() []string {
	d.t.Helper()
	text, err := os.ReadFile(d.path("ran"))
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	d.remove("ran")
	return strings.Fields(string(text))
}

// notRun checks that a workstream has not run, and removes the file ran.
func (d *desk) notRun(name string) {
	d.t.Helper()
	if got := d.hasRun(); slices.Contains(got, name) {
		d.t.Fatalf("%s has run; the last command said:\n%s", name, d.out)
	}
}

// TestNothingGetsPastAnApprovalThatWasNotGiven tries every way to continue a session
// whose gate waits for an approval. The gate must still wait and B must not run, until
// the gate is approved (coleam00/Archon 1429: after a rejection and a resume, the gate
// counted as approved).
func TestNothingGetsPastAnApprovalThatWasNotGiven(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name string
		try  func(d *desk, last string)
	}{
		{"a resume", func(d *desk, _ string) { d.build(3); d.build(3) }},
		{"--resume=auto", func(d *desk, _ string) { d.runs(3, "build", "PRD-001", "--resume=auto") }},
		{"--yes", func(d *desk, _ string) { d.build(3, "--yes") }},
		{"--keep-going", func(d *desk, _ string) { d.build(3, "--keep-going") }},
		{"--from", func(d *desk, last string) { d.build(3, "--from", last) }},
		{"--only", func(d *desk, _ string) { d.build(3, "--only", "B") }},
		{"--invalidate", func(d *desk, _ string) { d.build(3, "--invalidate", "B") }},
		{"a written plan", func(d *desk, _ string) {
			d.runs(0, "plan", "PRD-001", "--resume", "-o", "plan.json")
			d.runs(3, "build", "PRD-001", "--plan", "plan.json")
		}},
		{"a checkpoint from before it was asked", func(d *desk, _ string) {
			d.runs(3, "build", "PRD-001", "--resume=0", "--yes")
		}},
		{"a checkpoint from when it was asked", func(d *desk, _ string) {
			d.runs(3, "build", "PRD-001", "--resume=latest", "--yes")
		}},
		{"a rollback to before it was given", func(d *desk, _ string) {
			d.runs(0, "approve", "PRD-001")
			d.runs(0, "checkpoint", "rollback", "PRD-001", "latest", "--yes")
			d.build(3)
		}},
		{"a rejection", func(d *desk, _ string) {
			d.runs(0, "reject", "PRD-001")
			d.build(3)
			d.build(3)
		}},
		{"an approval in an earlier session", func(d *desk, _ string) {
			d.runs(0, "approve", "PRD-001")
			d.runs(3, "build", "PRD-001", "--fresh")
		}},
		{"an abandoned session", func(d *desk, _ string) {
			d.runs(0, "approve", "PRD-001")
			d.runs(0, "abandon", "PRD-001", "--yes")
			d.runs(3, "build", "PRD-001")
		}},
		{"somebody else's yes", func(d *desk, _ string) {
			source := d.source
			d.pipeline(strings.Replace(source, `"Ship it?"`, `"Ship it?"`+"\napprovers = [\"nobody-of-this-name\"]", 1))
			d.build(3)
			d.runs(2, "approve", "PRD-001")
			d.build(3)
			d.notRun("B")
			d.pipeline(source)
			d.build(3)
		}},
		{"an expiry", func(d *desk, _ string) {
			source := d.source
			d.pipeline(strings.Replace(source, `"Ship it?"`, `"Quick?"`+"\ntimeout = \"1ms\"", 1))
			expires := func() { d.exits(nil, []int{1, 3}, "build", "PRD-001", "--resume") } // 1: expired in this run; 3: expires in the next
			expires()
			d.runs(2, "approve", "PRD-001")
			expires()
			d.notRun("B")
			d.pipeline(source)
			d.build(3)
		}},
		{"the end of the session's time", func(d *desk, _ string) {
			source := d.source
			d.pipeline("timeout = \"1ms\"\n" + source)
			d.build(3)
			d.notRun("B")
			d.pipeline(source)
			d.build(3)
		}},
	}
	for _, p := range approvals {
		for _, way := range ways {
			t.Run(fmt.Sprint(p.name, ", ", way.name), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, p.source)
				d.runs(3, "build", "PRD-001")
				way.try(d, p.last)
				d.notRun("B")
				d.stands(p.gate, "waiting")
				if got := d.document(); got.Status != "paused" || len(got.GatesPassed) > 0 {
					t.Errorf("the PRD document does not say that the gate waits: %+v", got)
				}
				d.runs(0, "approve", "PRD-001")
				d.build(0)
				d.ran("B")
			})
		}
	}
}

// TestAnApprovalStillWaitsAfterItsRunnerEnded ends a runner that waits for an approval
// while another workstream runs. The next build must still wait for the approval, and B
// must run only after it.
func TestAnApprovalStillWaitsAfterItsRunnerEnded(t *testing.T) {
	t.Parallel()
	for _, with := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(with.String(), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }
  workstream "long" { script = "until grep -q gate.asked .runner/PRD-001/journal.jsonl; do sleep 0.01; done; echo > started; until test -e go; do sleep 0.01; done" }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran"
  }
}`)
			d.end(d.start("started"), with)
			d.write("go", "")
			d.build(3)
			d.ran("A")
			d.runs(0, "approve", "PRD-001")
			d.build(0)
			d.ran("B")
		})
	}
}

// approved is a pipeline with an approval gate at GATE_OF_A or at GATE_OF_PHASE, and with
// a phase after the gate that fails.
const approved = `
document = "prd.md"
phase "zero" {
  workstream "up" {
    script = "echo up >> ran; echo version=$(cat up.txt) >> $RUNNER_OUTPUT"
    inputs = ["up.txt"]
  }
}
phase "one" {
  title = "First"
  workstream "A" {
    depends_on = [workstream.up]
    command    = ["sh", "-c", "echo A >> ran; cat in.txt > out.txt; : $0", workstream.up.outputs.version]
    inputs     = ["in.txt"]
    artifacts  = ["out.txt"]
    GATE_OF_A
  }
  GATE_OF_PHASE
}
phase "two" {
  workstream "B" {
    script = "echo B >> ran; test -e good"
  }
}
`

const signOff = `gate "sign-off" {
    inputs = ["seen.txt", "in.txt", "out.txt"]
    approval {
      message   = "Ship it?"
      approvers = []
    }
  }`

// TestAnApprovalDoesNotOutliveWhatItApproved changes a file or a definition before or
// after the approval. If the gate depends on what changed, Runner must ask again before B
// runs; other changes must not matter (coleam00/Archon 3092: an approval counted although
// the approved work had changed meanwhile).
func TestAnApprovalDoesNotOutliveWhatItApproved(t *testing.T) {
	t.Parallel()
	edit := func(old, now string) func(d *desk) []string {
		return func(d *desk) []string { d.pipeline(strings.Replace(d.source, old, now, 1)); return nil }
	}
	write := func(name string, args ...string) func(d *desk) []string {
		return func(d *desk) []string { d.write(name, "changed\n"); return args }
	}
	changes := []struct {
		name   string
		change func(d *desk) []string // returns more arguments for the build
		voided bool                   // the change makes the approval void
		seen   bool                   // approve itself notices the change, and refuses
		ran    []string               // the workstreams that run before Runner asks again
	}{
		{"an input of the work", write("in.txt"), true, true, []string{"A"}},
		{"an input of the gate", write("seen.txt"), true, true, nil},
		{"an artifact, kept as edited", write("out.txt", "--on-conflict", "keep"), true, true, nil},
		{"what the work depends on", write("up.txt"), true, false, []string{"up", "A"}},
		{"what the work depends on, invalidated", func(*desk) []string { return []string{"--invalidate", "up"} }, true, false, []string{"up", "A"}},
		{"the work, invalidated", func(*desk) []string { return []string{"--invalidate", "A"} }, true, false, []string{"A"}},
		{"the work, from its phase on", func(*desk) []string { return []string{"--from", "one"} }, true, false, []string{"A"}},
		{"the definition of the work", edit("cat in.txt", "cat  in.txt"), true, false, []string{"A"}},
		{"the message", edit("Ship it?", "Ship it now?"), true, true, nil},
		{"the approvers", edit(`approvers = []`, `approvers = ["ann"]`), true, true, nil},
		{"what is judged", edit(`inputs = ["seen.txt", `, `inputs = [`), true, true, nil},
		{"the name of the gate", edit(`"sign-off"`, `"sign-off2"`), true, true, nil},
		{"the document, and nobody decides", write("prd.md"), true, false, nil},
		{"the document, and that is accepted", write("prd.md", "--on-stale", "proceed"), false, false, nil},
		{"a title", edit(`title = "First"`, `title = "Second"`), false, false, nil},
		{"a file that nothing names", write("notes.txt"), false, false, nil},
		{"an artifact that is put back", write("out.txt", "--on-conflict", "restore"), false, true, nil},
		{"the work that stands behind it", edit("test -e good", "test  -e good"), false, false, nil},
	}
	cases := 0
	for _, place := range []string{"GATE_OF_A", "GATE_OF_PHASE"} {
		for _, when := range []string{"after", "before"} {
			for _, c := range changes {
				if cases++; !inSample(cases, 3) {
					continue
				}
				t.Run(fmt.Sprintf("%s %s the answer, %s", c.name, when, place), func(t *testing.T) {
					t.Parallel()
					source := strings.Replace(approved, place, signOff, 1)
					d := newDesk(t, strings.NewReplacer("GATE_OF_A", "", "GATE_OF_PHASE", "").Replace(source))
					for _, name := range []string{"in.txt", "seen.txt", "up.txt", "prd.md"} {
						d.write(name, "1\n")
					}
					d.runs(3, "build", "PRD-001")
					d.ran("up", "A")
					if when == "after" {
						d.runs(0, "approve", "PRD-001")
						d.build(1)
						d.ran("B")
					}
					args := c.change(d)
					refused := when == "before" && c.seen
					switch {
					case refused:
						d.runs(2, "approve", "PRD-001")
					case when == "before":
						d.runs(0, "approve", "PRD-001")
					}
					switch {
					case refused && !c.voided:
						d.build(3, args...)
						d.ran()
						d.runs(0, "approve", "PRD-001")
						d.build(1)
						d.ran("B")
					case !c.voided:
						d.build(1, args...)
						d.ran("B")
					case strings.HasPrefix(c.name, "the document"):
						d.build(5)
						d.ran()
					default:
						d.build(3, args...)
						d.ran(c.ran...)
						d.build(3)
						d.ran()
					}
				})
			}
		}
	}
}
