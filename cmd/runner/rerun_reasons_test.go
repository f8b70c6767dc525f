//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// explained is a pipeline with a workstream or gate for each reason for which Runner
// repeats work, and some that must never run again. Its last workstream fails.
const explained = `
variable "level" { default = "1" }
variable "token" {
  default   = "hunter2-hunter2"
  sensitive = true
}
---
phase "one" {
  workstream "A" {
    inputs    = ["in/*.txt"]
    artifacts = ["a.out"]
    script    = "echo A >> ran; cat in/*.txt > a.out; cp in/a.txt copied.txt; echo metric.size=9 >> $RUNNER_OUTPUT"
  }
  workstream "V" {
    env    = { LEVEL = var.level }
    script = "echo V >> ran"
  }
  workstream "T" {
    env    = { TOKEN = var.token }
    script = "echo T >> ran"
  }
  workstream "many" {
    inputs = ["many/*"]
    script = "echo many >> ran"
  }
  workstream "apart" { script = "echo apart >> ran" }
}
phase "two" {
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran"
  }
  workstream "R" {
    inputs = ["a.out"]
    script = "echo R >> ran"
  }
  workstream "G" {
    script = "echo G >> ran"
    gate "check" {
      inputs = ["judged.txt", "copied.txt"]
      script = "echo check >> ran"
    }
  }
  gate "sized" {
    metric = "size"
    min    = 1
  }
}
phase "three" {
  workstream "S" {
    script = "echo S >> ran"
    gate "sign-off" {
      inputs = ["signed.txt"]
      approval { message = "Good?" }
    }
  }
}
phase "four" {
  workstream "end" { script = "test -e good" }
}
`

// redone is what must happen after a change.
type redone struct {
	planned, later map[string]string // reasons by step: in the plan; known only during the run
	ran            []string          // the words that the scripts add to the file ran
	asks           bool              // whether the run pauses for an approval
}

// TestEveryRerunIsExplained changes one thing in a session and resumes it. Each step that
// runs again must have a reason that names the change, the same in plan, plan --json, the
// output of the build and its events. No other step may run again
// (nextflow-io/nextflow 4894: a step ran again, and nothing told the user why).
func TestEveryRerunIsExplained(t *testing.T) {
	t.Parallel()
	onA := map[string]string{"B": "on the result of A", "R": "on the result of A"}
	runsA := func(why string) redone {
		planned := maps.Clone(onA)
		planned["A"] = why
		return redone{planned: planned, later: map[string]string{"B": "upstream changed: A"}, ran: []string{"A", "B"}}
	}
	also := func(a redone, name, why string) redone {
		a.later[name] = why
		a.ran = append(a.ran, name)
		return a
	}
	first := func(a redone) redone { // A copies in/a.txt to copied.txt, which check judges
		a.later["check (G)"] = "what it judged changed"
		a.ran = append(a.ran, "check")
		return also(a, "R", "inputs changed: a.out")
	}
	only := func(name, why string) redone {
		return redone{planned: map[string]string{name: why}, ran: []string{name}}
	}
	sed := func(d *desk, from, to string) {
		d.t.Helper()
		if !strings.Contains(d.source, from) {
			d.t.Fatalf("the pipeline has no %q", from)
		}
		d.pipeline(strings.Replace(d.source, from, to, 1))
	}
	changes := []struct {
		name   string
		change func(d *desk) []string
		want   redone
	}{
		{"nothing", func(*desk) []string { return nil }, redone{}},
		{"the bytes of an input", func(d *desk) []string { d.write("in/a.txt", "2"); return nil }, first(runsA("inputs changed: in/a.txt"))},
		{"an input that is added", func(d *desk) []string { d.write("in/c.txt", "3"); return nil }, also(runsA("inputs changed: in/c.txt"), "R", "inputs changed: a.out")},
		{"an input that is removed", func(d *desk) []string { d.remove("in/b.txt"); return nil }, also(runsA("inputs changed: in/b.txt"), "R", "inputs changed: a.out")},
		{"two inputs", func(d *desk) []string { d.write("in/a.txt", "2"); d.write("in/b.txt", "2"); return nil }, first(runsA("inputs changed: in/a.txt and 1 more"))},
		{"the mode of an input", func(d *desk) []string { d.chmod("in/a.txt"); return nil }, runsA("inputs changed: in/a.txt")},
		{"one of more inputs than a digest lists", func(d *desk) []string { d.write("many/007", "2"); return nil }, only("many", "inputs changed: many/007")},
		{"one more of these", func(d *desk) []string { d.write("many/extra", "2"); return nil }, only("many", "inputs changed: many/extra")},
		{"one less of these", func(d *desk) []string { d.remove("many/008"); return nil }, only("many", "inputs changed: many/008")},
		{"a script", func(d *desk) []string { sed(d, "echo V >>", "echo  V >>"); return nil }, only("V", "definition changed")},
		{"a script and an input", func(d *desk) []string {
			d.write("in/a.txt", "2")
			sed(d, "echo A >>", "echo  A >>")
			return nil
		}, first(runsA("inputs changed: in/a.txt; definition changed"))},
		{"a declared environment", func(d *desk) []string { sed(d, "{ LEVEL", "{ MORE = \"x\", LEVEL"); return nil }, only("V", "definition changed")},
		{"the value of a variable", func(*desk) []string { return []string{"--var", "level=2"} }, only("V", "variables changed: level; definition changed")},
		{"the default of a variable", func(d *desk) []string { sed(d, `default = "1"`, `default = "2"`); return nil }, only("V", "variables changed: level; definition changed")},
		{"the value of a sensitive variable", func(*desk) []string { return []string{"--var", "token=rotated-rotated"} }, redone{}},
		{"the sensitivity of a variable", func(d *desk) []string {
			sed(d, `  sensitive = true`, "")
			return nil
		}, only("T", "variables changed: token; definition changed")},
		{"an artifact that is deleted", func(d *desk) []string { d.remove("a.out"); return nil }, redone{}},
		{"an artifact that is deleted and can't be put back", func(d *desk) []string {
			d.remove("a.out")
			d.remove(".runner/objects")
			return nil
		}, runsA("its artifact a.out is missing")},
		{"an artifact that is edited, and kept", func(d *desk) []string { d.write("a.out", "mine"); return []string{"--on-conflict", "keep"} }, redone{
			planned: map[string]string{"B": "on the result of A", "R": "inputs changed: a.out"},
			later:   map[string]string{"B": "upstream changed: A"}, ran: []string{"B", "R"},
		}},
		{"an artifact that is edited, and restored", func(d *desk) []string { d.write("a.out", "mine"); return []string{"--on-conflict", "restore"} }, redone{}},
		{"what a gate judges", func(d *desk) []string { d.write("judged.txt", "2"); return nil }, redone{
			planned: map[string]string{"check (G)": "what it judged changed: judged.txt"}, ran: []string{"check"},
		}},
		{"a gate", func(d *desk) []string { sed(d, "echo check", "echo  check"); return nil }, redone{
			planned: map[string]string{"check (G)": "its definition changed"}, ran: []string{"check"},
		}},
		{"the threshold of a gate", func(d *desk) []string { sed(d, "min    = 1", "min    = 2"); return nil }, redone{
			planned: map[string]string{"sized (two)": "its definition changed"},
		}},
		{"the title of a phase", func(d *desk) []string { sed(d, `phase "two" {`, "phase \"two\" {\n  title = \"Second\""); return nil }, redone{}},
		{"a workstream that is added", func(d *desk) []string {
			sed(d, `phase "four" {`, "phase \"four\" {\n  workstream \"new\" { script = \"echo new >> ran\" }")
			return nil
		}, redone{ran: []string{"new"}}},
		{"a workstream that is removed", func(d *desk) []string { sed(d, `workstream "apart" { script = "echo apart >> ran" }`, ""); return nil }, redone{}},
		{"a workstream that is renamed", func(d *desk) []string { sed(d, `workstream "apart"`, `workstream "beside"`); return nil }, redone{ran: []string{"apart"}}},
		{"--invalidate", func(*desk) []string { return []string{"--invalidate", "A"} }, redone{
			planned: map[string]string{"A": "it was invalidated", "B": "it depends on A, which was invalidated", "R": "on the result of A"}, ran: []string{"A", "B"},
		}},
		{"--from", func(*desk) []string { return []string{"--from", "three"} }, redone{
			planned: map[string]string{"S": "everything from three on runs again"}, ran: []string{"S"}, asks: true,
		}},
		{"what was approved", func(d *desk) []string { d.write("signed.txt", "2"); return nil }, redone{
			planned: map[string]string{"sign-off (S)": "what it judged changed: signed.txt"}, asks: true,
		}},
	}
	for i, c := range changes {
		if !inSample(i, 3) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, output := range []string{"plain", "json"} {
				d := explainedDesk(t)
				d.explains(output, c.want, c.change(d)...)
			}
		})
	}
}

// explainedDesk returns a desk with a session of explained, complete except for the last
// workstream, which failed.
func explainedDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, explained)
	d.write("in/a.txt", "1")
	d.write("in/b.txt", "1")
	d.write("judged.txt", "1")
	d.write("signed.txt", "1")
	for i := range 70 {
		d.write(fmt.Sprintf("many/%03d", i), "1")
	}
	d.runs(3, "build", "PRD-001")
	d.runs(0, "approve", "PRD-001")
	d.build(1)
	d.hasRun()
	return d
}

// explains plans and resumes the session. It checks that the plan, the output and the
// workstreams that run are as wanted.
func (d *desk) explains(output string, want redone, args ...string) {
	d.t.Helper()
	d.runs(0, append([]string{"plan", "PRD-001", "--resume", "--json"}, args...)...)
	planned := planOf(d, []byte(d.out))
	if got := planned.again(); !maps.Equal(got, want.planned) {
		d.t.Errorf("the plan repeats\n%q, want\n%q", got, want.planned)
	}
	d.runs(0, append([]string{"plan", "PRD-001", "--resume"}, args...)...)
	for name, why := range want.planned {
		if !d.says(name, why) {
			d.t.Errorf("plan does not give the reason of %s, %q:\n%s", name, why, d.out)
		}
	}
	exit := 1
	if want.asks {
		exit = 3
	}
	d.build(exit, append([]string{"--output", output}, args...)...)
	if output == "json" {
		d.explainedByEvents(planned, want)
	} else {
		d.explainedInText(want)
	}
	d.ran(want.ran...)
}

// says reports whether a line of the last output contains all these texts.
func (d *desk) says(words ...string) bool {
	return slices.ContainsFunc(strings.Split(d.out, "\n"), func(line string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}

// explainedInText checks that the plain output of a build has all reasons and lists no
// other ones.
func (d *desk) explainedInText(want redone) {
	d.t.Helper()
	for name, why := range want.planned {
		if !d.says("  "+name+" (", "): "+why) {
			d.t.Errorf("the build does not give the planned reason of %s, %q:\n%s", name, why, d.out)
		}
	}
	for name, why := range want.later {
		if !d.says("- "+name+" will ", " again: "+why) {
			d.t.Errorf("the build does not give the reason of %s, %q:\n%s", name, why, d.out)
		}
	}
	lines := len(want.planned)
	if _, list, ok := strings.Cut(d.out, "Again, and why:\n"); ok {
		for line := range strings.Lines(list) {
			if !strings.HasPrefix(line, "  ") {
				break
			}
			lines--
		}
	}
	if lines != 0 {
		d.t.Errorf("the build does not list %d reasons:\n%s", len(want.planned), d.out)
	}
}

// explainedByEvents checks the events of a build: the build has the plan that the command
// plan printed, and each step that runs again was invalidated before, for the planned
// reason or for one that is known only during the run.
func (d *desk) explainedByEvents(planned shownPlan, want redone) {
	d.t.Helper()
	why := map[string]string{}
	for line := range strings.Lines(d.out) {
		var e struct {
			Kind, Workstream, Gate, Reason string
			Attempt                        int
			Plan                           json.RawMessage
		}
		if !strings.HasPrefix(line, "{") {
			continue // a line of standard error
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			d.t.Fatalf("%v in %s", err, line)
		}
		switch e.Kind {
		case "run.begin":
			if got := planOf(d, e.Plan); !reflect.DeepEqual(got, planned) {
				d.t.Errorf("the plan of the build is\n%+v, but the command plan printed\n%+v", got, planned)
			}
		case "workstream.invalidated", "gate.voided":
			why[e.Workstream+e.Gate] = e.Reason
		case "workstream.started":
			if e.Attempt > 1 && e.Workstream != "end" && why[e.Workstream] == "" {
				d.t.Errorf("%s runs again without an event that gives the reason", e.Workstream)
			}
		}
	}
	all := maps.Clone(want.later)
	if all == nil {
		all = map[string]string{}
	}
	for name, reason := range want.planned {
		if !strings.HasPrefix(reason, "on the result of") {
			all[name] = reason
		}
	}
	if !maps.Equal(why, all) {
		d.t.Errorf("the events give the reasons\n%q, want\n%q", why, all)
	}
}

// shownPlan holds the decisions of a plan in JSON, and their reasons.
type shownPlan struct {
	Phases []struct {
		Steps []struct{ Kind, Name, Decision, Reason string }
	}
}

func planOf(d *desk, data []byte) (p shownPlan) {
	d.t.Helper()
	if err := json.Unmarshal(data, &p); err != nil {
		d.t.Fatalf("plan: %v\n%s", err, data)
	}
	return p
}

// again returns the completed steps that the plan repeats, or repeats under a condition,
// with their reasons.
func (p shownPlan) again() map[string]string {
	all := map[string]string{}
	for _, phase := range p.Phases {
		for _, s := range phase.Steps {
			if s.Decision == "rerun" || s.Kind == "gate" && s.Decision == "judge" || s.Kind == "workstream" && s.Decision == "depends" {
				all[s.Name] = s.Reason
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// TestARejectionIsExplained rejects an approval gate and resumes. The plan and the build
// must name the rejection as the reason why the workstream of the gate runs again.
func TestARejectionIsExplained(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"plain", "json"} {
		d := newDesk(t, explained)
		for _, input := range []string{"in/a.txt", "judged.txt", "signed.txt", "many/000"} {
			d.write(input, "1")
		}
		d.runs(3, "build", "PRD-001")
		d.runs(0, "reject", "PRD-001", "-m", "the totals are wrong")
		d.hasRun()
		d.explains(output, redone{planned: map[string]string{"S": "sign-off (S) was rejected: the totals are wrong"}, ran: []string{"S"}, asks: true})
	}
}

// chmod makes a file executable.
func (d *desk) chmod(name string) {
	d.t.Helper()
	if err := os.Chmod(d.path(name), 0o700); err != nil { //nolint:gosec // that it can be run is the point
		d.t.Fatal(err)
	}
}
