package runner_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestGoneWorkIsJudgedLikeAnyOtherWhenItIsBack removes a workstream from the pipeline and
// adds it again. Its record counts only if its digest is unchanged, and Runner restores
// its missing artifacts.
func TestGoneWorkIsJudgedLikeAnyOtherWhenItIsBack(t *testing.T) {
	t.Parallel()
	const end = `
phase "two" {
  workstream "end" { script = "exit 1" }
}
`
	const without = `
phase "one" {
  workstream "other" { script = "echo other >> ran" }
}
` + end
	const with = `
phase "one" {
  workstream "other" { script = "echo other >> ran" }
  workstream "A" {
    inputs    = ["in.txt"]
    artifacts = ["out/a.txt"]
    script    = "echo A >> ran; mkdir -p out; cp in.txt out/a.txt"

    gate "check" { command = ["sh", "-c", "echo check >> ran"] }
  }
}
` + end
	b := newBench(t, with)
	b.write("in.txt", "one")
	b.must(state.StatusFailed)
	b.wantRanSet("A", "check", "other")
	away := func(meanwhile func()) {
		t.Helper()
		b.rewrite(without)
		b.must(state.StatusFailed)
		b.wantRan()
		meanwhile()
		b.rewrite(with)
		b.must(state.StatusFailed)
	}

	away(func() { b.remove("out/a.txt") })
	b.wantRan()
	b.wantFile("out/a.txt", "one")
	if got := b.decision("A"); got != plan.Reuse {
		t.Errorf("the decision for A, of which nothing changed, is %s, want reuse", got)
	}
	away(func() { b.write("in.txt", "two") })
	b.wantRan("A", "check")
	b.wantFile("out/a.txt", "two")
	if got := b.decision("A"); got != plan.Rerun {
		t.Errorf("the decision for A, whose input changed, is %s, want rerun", got)
	}
	if got := b.state().Workstream("A").Attempts; got != 2 {
		t.Errorf("A has %d attempts, want 2", got)
	}
}

// TestMetricsOfGoneWorkSatisfyNothing removes a workstream that has set a metric. The
// metric no longer counts, not even for a gate that has passed with it. The metric counts
// again when the workstream returns.
func TestMetricsOfGoneWorkSatisfyNothing(t *testing.T) {
	t.Parallel()
	const later = `
phase "two" {
  workstream "report" {
    when   = metric.coverage > 80
    script = "echo report >> ran"
  }
  gate "coverage" {
    metric = "coverage"
    min    = 80
  }
}
phase "three" {
  workstream "end" { script = "test -e go" }
}
`
	const with = `
phase "one" {
  workstream "tests" { script = "echo tests >> ran; echo metric.coverage=90 >> $RUNNER_OUTPUT" }
}
` + later
	const without = `
phase "one" {
  workstream "lint" { script = "echo lint >> ran" }
}
` + later
	b := newBench(t, with)
	b.must(state.StatusFailed)
	b.wantRan("tests", "report")
	b.write("go", "")
	b.rewrite(without)
	b.must(state.StatusFailed)
	b.wantRan("lint")
	if got := string(b.state().Error.Message); !strings.Contains(got, `No workstream has set the metric "coverage"`) {
		t.Errorf("the error of the session is %s", got)
	}
	b.rewrite(with)
	b.must(state.StatusComplete)
	b.wantRan()
}
