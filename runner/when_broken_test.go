package runner_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// whenOfSkipped is a pipeline whose workstream a may be skipped. Tests replace W by a
// when of phase two, and V by a when of workstream w. These may use the output of a.
const whenOfSkipped = `variable "on" { default = true }
---
phase "one" {
  workstream "a" {
    when   = var.on
    script = "echo a >> ran; echo o=1 >> $RUNNER_OUTPUT; echo metric.m=1 >> $RUNNER_OUTPUT"
  }
}
phase "two" {
  W
  workstream "w" {
    V
    script = "echo w >> ran"
    gate "check" { command = ["sh", "-c", "echo check >> ran"] }
  }
}
phase "last" {
  workstream "f" { script = "test -e mended" }
}
`

// TestPlanSaysThatAWhenWillFail: the plan says that a when can't be evaluated with any
// result of the run. The build fails, and the earlier record of the workstream survives.
func TestPlanSaysThatAWhenWillFail(t *testing.T) {
	t.Parallel()
	const output, metric = `when = workstream.a.outputs.o == "1"`, `when = metric.m == 1`
	for name, test := range map[string]struct{ phase, own, reason string }{
		"an output, of a phase":       {output, "", "the when of its phase can't be evaluated: Missing output"},
		"a metric, of a phase":        {metric, "", "the when of its phase can't be evaluated: Metric not available"},
		"of a phase with nothing on":  {output, "when = !run.resumed", "the when of its phase can't be evaluated: Missing output"},
		"an output, of a workstream":  {"", output, "its when can't be evaluated: Missing output"},
		"a metric, of a workstream":   {"", metric, "its when can't be evaluated: Metric not available"},
		"of both, that of the phase ": {output, metric, "the when of its phase can't be evaluated: Missing output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, strings.NewReplacer("W\n", test.phase+"\n", "V\n", test.own+"\n").Replace(whenOfSkipped))
			b.must(state.StatusFailed)
			b.wantRan("a", "w", "check")
			b.vars["on"] = "false"
			steps := b.preview()
			if s := steps["w"]; s.Decision != plan.Run || string(s.Reason) != test.reason {
				t.Errorf("the decision for w is %s (%s), want run (%s)", s.Decision, s.Reason, test.reason)
			}
			if s := steps["check (w)"]; s.Decision != plan.Depends {
				t.Errorf("the decision for check is %s (%s), want depends", s.Decision, s.Reason)
			}
			e := b.must(state.StatusFailed)
			if _, summary, _ := strings.Cut(test.reason, ": "); e.Error == nil || !strings.HasPrefix(string(e.Error.Message), summary) {
				t.Errorf("the session failed with %+v, want %s", e.Error, test.reason)
			}
			b.wantRan()
			if got := b.state().Workstream("w").Status; got != state.Completed {
				t.Errorf("w is %s, want completed", got)
			}
		})
	}
}

// TestWhenCanCatchWhatIsSkipped: a skipped workstream has no outputs. try catches that,
// and the error says why they are missing.
func TestWhenCanCatchWhatIsSkipped(t *testing.T) {
	t.Parallel()
	const output = `workstream.a.outputs.o == "1"`
	b := newBench(t, strings.NewReplacer("W\n", "when = try("+output+", true)\n", "V\n", "\n").Replace(whenOfSkipped))
	b.vars["on"] = "false"
	if s := b.preview()["w"]; s.Decision != plan.Run || s.Reason != "not run yet" {
		t.Errorf("the decision for w is %s (%s), want run", s.Decision, s.Reason)
	}
	b.must(state.StatusFailed)
	b.wantRan("w", "check")
	b.rewrite(strings.NewReplacer("W\n", "when = "+output+"\n", "V\n", "\n").Replace(whenOfSkipped))
	e := b.must(state.StatusFailed)
	if want := `The workstream a was skipped, and has no output "o".`; e.Error == nil || !strings.Contains(string(e.Error.Message), want) {
		t.Errorf("the session failed with %+v, want %s", e.Error, want)
	}
}

// TestWhenOverABlockSeesItsNewInstances adds skipped instances to a block with for_each.
// The plan evaluates a when over the block with these instances, like the run.
func TestWhenOverABlockSeesItsNewInstances(t *testing.T) {
	t.Parallel()
	source := func(keys, when string) string {
		return `
phase "one" {
  workstream "b" {
    for_each = toset([` + keys + `])
    when     = false
    script   = "echo o=1 >> $RUNNER_OUTPUT"
  }
}
phase "two" {
  when = ` + when + `
  workstream "w" { script = "echo w >> ran" }
}
phase "last" {
  workstream "f" { script = "exit 1" }
}
`
	}
	const all = `join(",", [for k, v in workstream.b : v.outputs.o]) != "1"`
	b := newBench(t, source(`"a"`, "try("+all+", false)"))
	b.must(state.StatusFailed)
	b.rewrite(source(`"c", "d"`, "try("+all+", false)"))
	if s := b.preview()["w"]; s.Decision != plan.Skipped {
		t.Errorf("the decision for w is %s (%s), want skipped", s.Decision, s.Reason)
	}
	b.must(state.StatusFailed)
	b.wantRan()
	b.rewrite(source(`"e"`, all))
	if s := b.preview()["w"]; s.Decision != plan.Run || !strings.HasPrefix(string(s.Reason), "the when of its phase can't be evaluated") {
		t.Errorf("the decision for w is %s (%s), want run, since its when can't be evaluated", s.Decision, s.Reason)
	}
	b.must(state.StatusFailed)
	b.wantRan()
}

// TestWhatMayHaveHappenedStaysUncertainWhereNothingCanBeEvaluated: an expression of an
// uncertain once step can't be evaluated for a while. The step stays uncertain, and does
// not run again.
func TestWhatMayHaveHappenedStaysUncertainWhereNothingCanBeEvaluated(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"its when":    "when = metric.m == 1\n script = \"echo once >> ran; exit 1\"",
		"its command": "script = \"echo ${metric.m} >> ran; exit 1\"",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := func(inside string) string {
				return "phase \"one\" {\n workstream \"A\" {\n effect = \"once\"\n" + inside + "\n}\n}\n"
			}
			b := newBench(t, source(`script = "echo once >> ran; exit 1"`))
			b.must(state.StatusPaused)
			b.wantRan("once")
			b.rewrite(source(broken))
			for range 2 {
				if s := b.preview()["A"]; s.Decision != plan.Uncertain {
					t.Errorf("the decision for A is %s (%s), want uncertain", s.Decision, s.Reason)
				}
				e := b.must(state.StatusPaused)
				if got := b.state().Workstream("A").Status; got != state.Uncertain || e.Pause.Reason != state.PauseUncertain {
					t.Errorf("A is %s, and the session paused %+v, want uncertain", got, e.Pause)
				}
				b.rewrite(source(`script = "echo once >> ran; exit 1"`))
			}
			b.wantRan()
		})
	}
}

// TestAWhenOfWhatWasNotChosenFailsNothing: a workstream that is not chosen is left for
// later, as the plan says, even if its when can't be evaluated.
func TestAWhenOfWhatWasNotChosenFailsNothing(t *testing.T) {
	t.Parallel()
	const output = `when = workstream.a.outputs.o == "1"`
	for name, broken := range map[string][]string{"of a phase": {output, ""}, "of a workstream": {"", output}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, strings.NewReplacer("W\n", broken[0]+"\n", "V\n", broken[1]+"\n").Replace(whenOfSkipped))
			b.vars["on"] = "false"
			only := func(o *runner.Options) { o.Select.Only = []string{"a"} }
			if s := b.preview(only)["w"]; s.Decision != plan.Blocked {
				t.Errorf("the decision for w is %s (%s), want blocked", s.Decision, s.Reason)
			}
			if e := b.must(state.StatusPaused, only); e.Pause.Message != "only some workstreams were chosen" {
				t.Errorf("paused: %+v", e.Pause)
			}
			b.must(state.StatusFailed)
			b.wantRan()
		})
	}
}
