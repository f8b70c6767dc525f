package runner_test

import (
	"context"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// TestWhatIsAddedToSkippedWorkIsSkippedToo: a workstream or gate that is added to a
// skipped phase or workstream is recorded as skipped, so that the session can complete.
func TestWhatIsAddedToSkippedWorkIsSkippedToo(t *testing.T) {
	t.Parallel()
	const last = `
phase "two" {
  workstream "f" { script = "test -e mended" }
}
`
	phase := func(inside string) string { return `phase "one" {` + "\n when = false\n" + inside + "\n}\n" + last }
	const a, b, check = `workstream "a" { script = "echo a >> ran" }`, `workstream "b" { script = "echo b >> ran" }`, `gate "check" { command = ["false"] }`
	own := func(gate string) string {
		return `phase "one" {
  workstream "a" {
    when   = false
    script = "echo a >> ran"
    ` + gate + `
  }
  ` + b + `
}
` + last
	}
	for name, was := range map[string]struct{ before, after, added string }{
		"a workstream":                  {phase(a), phase(a + "\n" + b), "b"},
		"an instance of one":            {phase(each(`"k"`)), phase(each(`"k", "l"`)), `e["l"]`},
		"a gate of the phase":           {phase(a), phase(a + "\n" + check), "check (one)"},
		"a gate of a workstream in it":  {phase(a), phase("workstream \"a\" {\n script = \"true\"\n" + check + "\n}"), "check (a)"},
		"a gate of a workstream itself": {own(""), own(check), "check (a)"},
		"a gate of the only workstream": {only(""), only(check), "check (a)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, was.before)
			b.must(state.StatusFailed)
			b.ran()
			b.rewrite(was.after)
			if s := b.preview()[was.added]; s.Decision != plan.Skipped {
				t.Errorf("the decision for %s is %s (%s), want skipped", was.added, s.Decision, s.Reason)
			}
			b.write("mended", "")
			b.must(state.StatusComplete)
			b.wantRan()
		})
	}
}

func each(keys string) string {
	return "workstream \"e\" {\n for_each = toset([" + keys + "])\n script = \"echo e >> ran\"\n}\n"
}

// only returns a pipeline in which the only workstream of phase one is skipped.
func only(gate string) string {
	return `
phase "one" {
  workstream "a" {
    when   = false
    script = "echo a >> ran"
    ` + gate + `
  }
}
phase "two" {
  workstream "f" { script = "test -e mended" }
}
`
}

// TestWorkThatMovesIntoASkippedPhaseIsSkipped moves a completed workstream into a skipped
// phase. The workstream no longer counts as done, and its dependents run again once.
func TestWorkThatMovesIntoASkippedPhaseIsSkipped(t *testing.T) {
	t.Parallel()
	const y = `workstream "y" { script = "echo y >> ran" }`
	source := func(one, two string) string {
		return `
phase "one" {
  when = false
  workstream "a" { script = "true" }
  ` + one + `
}
phase "two" {
  ` + two + `
  workstream "z" { script = "true" }
}
phase "three" {
  workstream "d" {
    depends_on = [workstream.y]
    run_on     = "always"
    script     = "echo d >> ran"
  }
}
phase "last" {
  workstream "f" { script = "test -e mended" }
}
`
	}
	b := newBench(t, source("", y))
	b.must(state.StatusFailed)
	b.wantRan("y", "d")
	b.rewrite(source(y, ""))
	steps := b.preview()
	if y, d := steps["y"], steps["d"]; y.Decision != plan.Skipped || d.Decision != plan.Rerun {
		t.Errorf("the decision for y is %s (%s), for d %s (%s), want skipped and rerun", y.Decision, y.Reason, d.Decision, d.Reason)
	}
	b.must(state.StatusFailed)
	b.wantRan("d")
	if got := b.state().Workstream("y").Status; got != state.Skipped {
		t.Errorf("y is %s, want skipped", got)
	}
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantRan()
}

// TestWhenReadsWhatIsAddedToASkippedPhase: for a when, a new workstream in a skipped
// phase has the same result as any skipped workstream.
func TestWhenReadsWhatIsAddedToASkippedPhase(t *testing.T) {
	t.Parallel()
	source := func(added, when string) string {
		return `
phase "one" {
  when = false
  workstream "a" { script = "true" }
  ` + added + `
}
phase "two" {
  workstream "w" {
    when   = ` + when + `
    script = "echo w >> ran"
  }
}
phase "last" {
  workstream "f" { script = "test -e mended" }
}
`
	}
	b := newBench(t, source("", "true"))
	b.must(state.StatusFailed)
	b.wantRan("w")
	b.rewrite(source(`workstream "n" { script = "true" }`, `length(workstream.n.artifacts) > 0`))
	if s := b.preview()["w"]; s.Decision != plan.Skipped {
		t.Errorf("the decision for w is %s (%s), want skipped", s.Decision, s.Reason)
	}
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantRan()
}

// TestVerdictsOutliveWorkThatIsSkippedFromTheStart adds a workstream that is skipped and
// never ran. It gave the gates of its phase no files to judge, so the gates neither judge
// nor ask again.
func TestVerdictsOutliveWorkThatIsSkippedFromTheStart(t *testing.T) {
	t.Parallel()
	source := func(added string) string {
		return `
phase "one" {
  workstream "a" {
    inputs = ["in.txt"]
    script = "echo a >> ran"
  }
  ` + added + `
  gate "check" {
    inputs  = ["in.txt"]
    command = ["sh", "-c", "echo check >> ran"]
  }
  gate "person" {
    inputs = ["in.txt"]
    approval { message = "good?" }
  }
}
phase "two" {
  workstream "f" { script = "test -e mended" }
}
`
	}
	const skipped = "workstream \"n\" {\n when = false\n script = \"echo n >> ran\"\n %s}\n"
	for name, added := range map[string]string{
		"a workstream":        strings.ReplaceAll(skipped, "%s", ""),
		"and, then, its gate": strings.ReplaceAll(skipped, "%s", "gate \"own\" { command = [\"false\"] }\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, source(""))
			b.write("in.txt", "1")
			b.must(state.StatusFailed, func(o *runner.Options) { o.Asker = approving{} })
			b.wantRan("a", "check")
			if name != "a workstream" {
				b.rewrite(source(strings.ReplaceAll(skipped, "%s", "")))
				b.must(state.StatusFailed)
			}
			b.rewrite(source(added))
			for gate, s := range b.preview() {
				if strings.HasSuffix(gate, "(one)") && s.Decision != plan.Reuse {
					t.Errorf("the decision for %s is %s (%s), want reuse", gate, s.Decision, s.Reason)
				}
			}
			b.must(state.StatusFailed)
			b.wantRan()
			b.write("mended", "")
			b.must(state.StatusComplete)
			b.wantRan()
		})
	}
}

// approving is an Asker whose user approves everything.
type approving struct{ silent }

func (approving) Approve(context.Context, runner.Question) (runner.Answer, error) {
	return runner.Answer{Verdict: runner.Approve, By: state.Actor{User: "ann"}}, nil
}
