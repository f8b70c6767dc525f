//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestARejectionRunsAllAgainThatItIsAbout rejects a gate twice, and resumes each time.
// The workstreams and all other gates that the rejected gate covers must run again once,
// and nothing else (coleam00/Archon 2735: after a rejection the work was done again, but
// shown with the verdicts on the old work).
func TestARejectionRunsAllAgainThatItIsAbout(t *testing.T) {
	t.Parallel()
	const rest = `
phase "three" {
  workstream "B" { script = "echo B >> ran" }
}`
	const before = `
phase "zero" {
  workstream "up" { script = "echo up >> ran" }
}`
	tests := []struct {
		name, source string
		first, again []string
	}{
		{"a workstream's", before + `
phase "one" {
  workstream "beside" { script = "echo beside >> ran" }
  workstream "A" {
    depends_on = [workstream.up]
    script     = "echo A >> ran; echo metric.size=5 >> $RUNNER_OUTPUT"
    gate "verify" {
      inputs = ["a.txt"]
      script = "echo verify >> ran"
    }
    gate "sized" {
      metric = "size"
      min    = 5
    }
    gate "sign-off" {
      approval { message = "Good?" }
    }
  }
}` + rest, []string{"up", "beside", "A", "verify"}, []string{"A", "verify"}},
		{"a phase's", before + `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "verify" {
      inputs = ["a.txt"]
      script = "echo verify >> ran"
    }
  }
  workstream "A2" {
    depends_on = [workstream.A]
    script     = "echo A2 >> ran"
  }
  gate "integrated" {
    inputs = ["a.txt"]
    script = "echo integrated >> ran"
  }
  gate "sign-off" {
    approval { message = "Good?" }
  }
}` + rest, []string{"up", "A", "verify", "A2", "integrated"}, []string{"A", "verify", "A2", "integrated"}},
		{"a review", before + `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "verify" {
      inputs = ["a.txt"]
      script = "echo verify >> ran"
      pause  = true
    }
  }
}` + rest, []string{"up", "A", "verify"}, []string{"A", "verify"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, tt.source)
			d.runs(3, "build", "PRD-001")
			d.ran(tt.first...)
			for range 2 {
				d.runs(0, "reject", "PRD-001", "-m", "the totals are wrong")
				if doc := d.document(); slices.ContainsFunc(doc.GatesPassed, func(g string) bool { return strings.HasPrefix(g, "sign-off") }) {
					t.Errorf("the PRD document says that the rejected gate has passed: %+v", doc)
				}
				d.build(3)
				d.ran(tt.again...)
			}
			d.runs(0, "approve", "PRD-001")
			d.build(0)
			d.ran("B")
		})
	}
}

// TestARejectionIsNotForgotten rejects a phase and ends the next run in its middle. The
// run after that must run the rejected workstreams that have not run since the rejection,
// and no others.
func TestARejectionIsNotForgotten(t *testing.T) {
	t.Parallel()
	for _, with := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(with.String(), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
  workstream "A2" {
    depends_on = [workstream.A]
    script     = "echo A2 >> ran; test ! -e slow || { echo > started; exec sleep 100; }"
  }
  workstream "A3" {
    depends_on = [workstream.A2]
    script     = "echo A3 >> ran"
  }
  gate "sign-off" {
    approval { message = "Good?" }
  }
}`)
			d.runs(3, "build", "PRD-001")
			d.ran("A", "A2", "A3")
			d.runs(0, "reject", "PRD-001")
			d.write("slow", "")
			d.end(d.start("started", "--resume"), with)
			d.ran("A", "A2")
			d.remove("slow")
			d.build(3)
			d.ran("A2", "A3")
			d.runs(0, "approve", "PRD-001")
			d.build(0)
			d.ran()
		})
	}
}

// TestARejectionHoldsWhateverElseRuns rejects a phase, and then chooses or skips one of
// its workstreams or renames the gate. The next build must still run the rejected B
// again. Whether mail, which must happen only once, runs again is for the user to decide.
func TestARejectionHoldsWhateverElseRuns(t *testing.T) {
	t.Parallel()
	const source = `
variable "on" { default = true }
---
phase "one" {
  workstream "A" { script = "echo A >> ran" }
  workstream "B" { script = "echo B >> ran" }
  workstream "C" {
    when   = var.on
    script = "echo C >> ran"
  }
  workstream "mail" {
    effect = "once"
    script = "echo mail >> ran"
  }
  gate "sign-off" {
    approval { message = "Good?" }
  }
}`
	for name, meanwhile := range map[string]func(d *desk){
		"another was chosen":        func(d *desk) { d.build(0, "--only", "A"); d.ran("A") },
		"another is skipped":        func(d *desk) { d.build(0, "--var", "on=false", "--only", "C"); d.ran() },
		"the gate has another name": func(d *desk) { d.pipeline(strings.Replace(source, "sign-off", "approval", 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, source)
			d.runs(3, "build", "PRD-001")
			d.runs(0, "reject", "PRD-001")
			d.hasRun()
			meanwhile(d)
			d.build(3, "--var", "on=false")
			if ran := d.hasRun(); !slices.Contains(ran, "B") || slices.Contains(ran, "mail") {
				t.Errorf("after the rejection %q ran, want B and not mail", ran)
			}
			d.runs(0, "status", "PRD-001")
			if !d.says("runner resolve PRD-001 mail --done") {
				t.Errorf("the status does not ask whether mail is to run again:\n%s", d.out)
			}
		})
	}
}

// dependents is a pipeline whose workstreams depend on A in every way: directly, through
// another workstream, through instances of a for_each, only through an output, only
// through a file, in the same phase and in later ones. apart and apart2 do not depend on
// A.
const dependents = `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; cat a.txt > a.out; echo value=$(cat a.txt) >> $RUNNER_OUTPUT"
    inputs    = ["a.txt"]
    artifacts = ["a.out"]
    EFFECT
  }
  workstream "direct" {
    depends_on = [workstream.A]
    script     = "echo direct >> ran"
    gate "check" {
      inputs = ["a.txt"]
      script = "echo check >> ran"
    }
  }
  workstream "apart" {
    script = "echo apart >> ran"
    inputs = ["b.txt"]
  }
}
phase "two" {
  workstream "each" {
    for_each   = toset(["x", "y"])
    depends_on = [workstream.direct]
    script     = "echo each-${each.key} >> ran; echo of=${each.key} >> $RUNNER_OUTPUT"
  }
  workstream "output" { command = ["sh", "-c", "echo output >> ran; : $0", workstream.A.outputs.value] }
  workstream "reads" {
    inputs = ["a.out"]
    script = "echo reads >> ran"
  }
  workstream "apart2" {
    depends_on = [workstream.apart]
    script     = "echo apart2 >> ran"
  }
}
phase "three" {
  workstream "behind" {
    command = ["sh", "-c", "echo behind >> ran; : $0", workstream.each["x"].outputs.of]
  }
  workstream "end" { script = "echo end >> ran; test -e good" }
}
`

// TestDependentsFollow makes one workstream run again, for different reasons. Everything
// that depends on that workstream must run again too (coleam00/Archon 2402), and nothing
// else.
func TestDependentsFollow(t *testing.T) {
	t.Parallel()
	all := []string{"A", "direct", "check", "each-x", "each-y", "output", "behind"}
	reasons := []struct {
		name, effect string
		change       func(d *desk) []string
		want         []string
	}{
		{"an input, which shows in the artifact", "", func(d *desk) []string { d.write("a.txt", "2"); return nil }, append([]string{"reads"}, all...)},
		{"its definition", "", func(d *desk) []string {
			d.pipeline(strings.Replace(d.source, "cat a.txt >", "cat  a.txt >", 1))
			return nil
		}, all},
		{"--invalidate", "", func(*desk) []string { return []string{"--invalidate", "A"} }, all},
		{"--only, and then the rest", "", func(d *desk) []string { d.build(0, "--only", "A"); return nil }, all},
		{"an artifact that was edited, and is kept", "", func(d *desk) []string { d.write("a.out", "mine"); return []string{"--on-conflict", "keep"} },
			[]string{"direct", "check", "each-x", "each-y", "output", "reads", "behind"}},
		{"a pure one with another result", `effect = "pure"`, func(d *desk) []string { d.write("a.txt", "2"); return nil }, append([]string{"reads"}, all...)},
		{"a pure one with the same result", `effect = "pure"`, func(d *desk) []string {
			d.pipeline(strings.Replace(d.source, "cat a.txt >", "cat  a.txt >", 1))
			return nil
		}, []string{"A"}},
		{"a pure one that is invalidated", `effect = "pure"`, func(*desk) []string { return []string{"--invalidate", "A"} }, all},
		{"of one instance", "", func(*desk) []string { return []string{"--invalidate", `each["x"]`} }, []string{"each-x", "behind"}},
		{"of another instance", "", func(*desk) []string { return []string{"--invalidate", `each["y"]`} }, []string{"each-y"}},
		{"of all instances", "", func(*desk) []string { return []string{"--invalidate", "each"} }, []string{"each-x", "each-y", "behind"}},
		{"a phase, and all behind it", "", func(*desk) []string { return []string{"--from", "two"} }, []string{"each-x", "each-y", "output", "reads", "apart2", "behind"}},
		{"nothing", "", func(*desk) []string { return nil }, nil},
	}
	for _, r := range reasons {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, strings.Replace(dependents, "EFFECT", r.effect, 1))
			d.write("a.txt", "1")
			d.write("b.txt", "1")
			d.runs(1, "build", "PRD-001")
			d.hasRun()
			args := r.change(d)
			if r.name == "--only, and then the rest" {
				d.ran("A")
				r.want = r.want[1:]
			}
			reused := d.promised(args...)
			d.build(1, args...)
			for _, name := range r.want {
				if reused[name] {
					t.Errorf("the plan reuses %s, but %s must run again", name, name)
				}
			}
			d.ran(append([]string{"end"}, r.want...)...)
			d.build(1)
			d.ran("end")
		})
	}
}

// promised returns which workstreams and gates the plan reuses, by the words that they
// write to the file ran.
func (d *desk) promised(args ...string) map[string]bool {
	d.t.Helper()
	d.runs(0, append([]string{"plan", "PRD-001", "--resume", "--json"}, args...)...)
	var plan struct {
		Phases []struct {
			Steps []struct{ Name, Decision string }
		}
	}
	if err := json.Unmarshal([]byte(d.out), &plan); err != nil {
		d.t.Fatalf("plan: %v\n%s", err, d.out)
	}
	reused := map[string]bool{}
	for _, p := range plan.Phases {
		for _, s := range p.Steps {
			word := strings.NewReplacer(`["`, "-", `"]`, "", " (direct)", "").Replace(s.Name)
			reused[word] = s.Decision == "reuse"
		}
	}
	return reused
}

// TestDependentsFollowWhenTheRunIsCutShort changes the input of A. Then runs fail in A,
// or are killed in B, which depends on A. Later runs must still run B and C again.
func TestDependentsFollowWhenTheRunIsCutShort(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran; test ! -e bad"
    inputs = ["a.txt"]
  }
}
phase "two" {
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; test ! -e slow || { echo > started; exec sleep 100; }"
  }
  workstream "C" {
    depends_on = [workstream.B]
    script     = "echo C >> ran"
  }
}
phase "three" {
  workstream "end" { script = "echo end >> ran; test -e good" }
}`)
	d.write("a.txt", "1")
	d.runs(1, "build", "PRD-001")
	d.ran("A", "B", "C", "end")
	d.write("a.txt", "2")
	d.write("bad", "")
	for range 2 { // B must not be reused: A will have another result
		d.build(1)
		d.ran("A")
	}
	d.remove("bad")
	d.write("slow", "")
	d.end(d.start("started", "--resume"), syscall.SIGKILL)
	d.ran("A", "B")
	d.remove("slow")
	d.remove("started")
	d.build(1)
	d.ran("B", "C", "end")
	d.write("good", "")
	d.build(0)
	d.ran("end")
}
