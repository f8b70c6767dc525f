package runner_test

import (
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// gatesOnOthers holds gates for a workstream or phase that does not depend on workstream
// a. Their verdicts are nevertheless bound to results of a.
var gatesOnOthers = map[string]string{
	"a condition on an output": `
gate "check" {
  condition     = workstream.a.outputs.x != ""
  error_message = "no x"
}
`,
	"a command with an output": `
gate "check" {
  inputs  = ["in.txt"]
  command = ["sh", "-c", "echo check >> ran; echo ${workstream.a.outputs.x}"]
}
`,
	"a metric": `
gate "check" {
  metric = "x"
  max    = 5
}
`,
	"a condition on a metric": `
gate "check" {
  condition     = metric.x < 5
  error_message = "x is too much"
}
`,
	"a command on an artifact": `
gate "check" {
  inputs  = ["a.txt"]
  command = ["sh", "-c", "echo check >> ran"]
}
`,
}

// TestVerdictsOnWhatIsMadeAnewAreNotPromised changes the input of workstream a, so that a
// runs again. The plan must not promise to reuse a verdict that is bound to a result of
// a, even if the judged workstream does not run again. The build judges again if the
// result differs.
func TestVerdictsOnWhatIsMadeAnewAreNotPromised(t *testing.T) {
	t.Parallel()
	const one = `
phase "one" {
  workstream "a" {
    inputs    = ["in"]
    artifacts = ["a.txt"]
    script    = "cp in a.txt; echo x=$(cat in) >> $RUNNER_OUTPUT; echo metric.x=$(cat in) >> $RUNNER_OUTPUT"
  }
}
`
	const end = `
phase "last" {
  workstream "end" { script = "exit 1" }
}
`
	owners := map[string]func(gate string) (source, label string){
		"its own": func(gate string) (string, string) {
			return one + `phase "two" {
  workstream "c" {
    script = "true"
` + gate + `
  }
}
` + end, "check (c)"
		},
		"a shared one": func(gate string) (string, string) {
			return gate + "---\n" + one + `phase "two" {
  workstream "c" {
    script = "true"
    gates  = [gate.check]
  }
}
` + end, "check (c)"
		},
		"its phase's": func(gate string) (string, string) {
			return one + `phase "two" {
  workstream "c" { script = "true" }
` + gate + `
}
` + end, "check (two)"
		},
	}
	for what, gate := range gatesOnOthers {
		for owner, with := range owners {
			for _, to := range []string{"1 ", "2"} { // the same output as before, and another one
				t.Run(what+", "+owner+", to "+to, func(t *testing.T) {
					t.Parallel()
					source, label := with(gate)
					b := newBench(t, source)
					b.write("in", "1")
					b.write("in.txt", "")
					b.must(state.StatusFailed)
					if s := b.preview()[label]; s.Decision != plan.Reuse {
						t.Errorf("with nothing changed, the decision for %s is %s (%s), want reuse", label, s.Decision, s.Reason)
					}
					before := *b.state().Gate(label)
					b.write("in", to)
					steps := b.preview()
					if s := steps[label]; s.Decision != plan.Depends || !slices.Equal(s.On, []string{"a"}) {
						t.Errorf("the decision for %s is %s on %q (%s), want depends on a", label, s.Decision, s.On, s.Reason)
					}
					if s := steps["c"]; strings.HasSuffix(label, "(c)") != (s.Decision == plan.Judge) {
						t.Errorf("the decision for c is %s (%s)", s.Decision, s.Reason)
					}
					b.must(state.StatusFailed)
					after := b.state().Gate(label)
					if after.Status != state.Passed {
						t.Errorf("%s is %s", label, after.Status)
					}
					if again := !after.At.Equal(*before.At); to == "2" && !again {
						t.Errorf("%s was not judged again", label)
					}
				})
			}
		}
	}
}
