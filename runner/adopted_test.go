package runner_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// adopting is the body of a pipeline whose once step pay always fails. The verify command
// of pay exits with the code in the file "verdict": 0 means that pay happened, 2 that
// this is unknown.
const adopting = `
variable "amount" { default = "1" }
---
phase "one" {
  workstream "up" { script = "echo up >> ran; test ! -e broken; echo value=$(cat value) >> $RUNNER_OUTPUT" }
  workstream "pay" {
    depends_on = [workstream.up]
    inputs     = ["in.txt"]
    script     = "echo pay >> ran; echo ${workstream.up.outputs.value} ${var.amount}; exit 1"
    effect     = "once"
    verify     = ["sh", "-c", "exit $(cat verdict)"]

    gate "checked" { command = ["test", "-e", "in.txt"] }
  }
  workstream "end" {
    depends_on = [workstream.pay]
    script     = "exit 1"
  }
}
`

// TestAdoptedWorkIsBoundToWhatItWasAdoptedUnder adopts the work of a once step, by hand
// or by its verify command, and then changes one thing. Runner asks about the step again
// if an input, the declaration or a variable changed. If a gate changed, Runner only
// judges the gate.
func TestAdoptedWorkIsBoundToWhatItWasAdoptedUnder(t *testing.T) {
	t.Parallel()
	adoptions := map[string]func(b *bench){
		"by hand": func(b *bench) {
			b.must(state.StatusPaused)
			b.write("in.txt", "mended") // before the adoption
			b.resolve("pay", state.ResolvedDone)
		},
		"by verify, after its attempt": func(b *bench) { b.write("verdict", "0") },
		"by verify, in another run": func(b *bench) {
			b.must(state.StatusPaused)
			b.write("in.txt", "mended")
			b.write("verdict", "0")
		},
	}
	changes := []struct {
		name string
		do   func(b *bench)
		want plan.Decision
	}{
		{"nothing", func(*bench) {}, plan.Reuse},
		{"an input", func(b *bench) { b.write("in.txt", "changed") }, plan.Uncertain},
		{"its declaration", func(b *bench) { b.rewrite(strings.ReplaceAll(adopting, "echo pay", "echo  pay")) }, plan.Uncertain},
		{"a variable", func(b *bench) { b.vars["amount"] = "2" }, plan.Uncertain},
		{"its gate", func(b *bench) { b.rewrite(strings.ReplaceAll(adopting, `"-e", "in.txt"`, `"-s", "in.txt"`)) }, plan.Judge},
	}
	for how, adopt := range adoptions {
		for _, c := range changes {
			t.Run(how+", then "+c.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, adopting)
				b.write("value", "1")
				b.write("in.txt", "in")
				b.write("verdict", "2")
				adopt(b)
				b.must(state.StatusFailed)
				b.wantRan("up", "pay")
				c.do(b)
				b.write("verdict", "2")
				if _, err := b.build(); err != nil {
					t.Fatal(err)
				}
				b.wantRan()
				if got := b.decision("pay"); got != c.want {
					t.Errorf("the plan decides %s for pay, want %s", got, c.want)
				}
			})
		}
	}
}

// TestAdoptedWorkIsAskedAboutAgainWhenItsUpstreamRanAgain adopts a once step while the
// workstream upstream has failed. The step counts as run from the inputs of its last
// attempt. Runner asks about the step again after the upstream workstream has run.
func TestAdoptedWorkIsAskedAboutAgainWhenItsUpstreamRanAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, adopting)
	b.write("value", "1")
	b.write("in.txt", "in")
	b.write("verdict", "2")
	b.must(state.StatusPaused)
	b.write("broken", "")
	b.must(state.StatusFailed, func(o *runner.Options) { o.Select.Invalidate = []string{"up"} })
	b.wantRan("up", "pay", "up")
	b.resolve("pay", state.ResolvedDone)
	b.remove("broken")
	b.must(state.StatusPaused)
	b.wantRan("up")
	if got := b.state().Workstream("pay").Status; got != state.Uncertain {
		t.Errorf("pay is %s, want uncertain", got)
	}
}

// TestAdoptionWithoutADigestComparesNothing adopts a step as earlier versions of Runner
// recorded adoptions, without a digest. If an input changes afterwards, the step stays
// completed.
func TestAdoptionWithoutADigestComparesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, adopting)
	b.write("value", "1")
	b.write("in.txt", "in")
	b.write("verdict", "2")
	b.must(state.StatusPaused)
	b.wantRan("up", "pay")
	b.locked(func(x *checkpoint.Session) {
		x.Add(state.WorkstreamResolved{Workstream: "pay", Resolution: state.ResolvedDone})
	})
	b.write("in.txt", "changed")
	b.must(state.StatusFailed)
	b.wantRan()
	if got := b.state().Workstream("pay").Status; got != state.Completed {
		t.Errorf("pay is %s, want completed", got)
	}
}
