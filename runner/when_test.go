package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// preview returns the steps of a plan that resumes the session.
func (b *bench) preview(with ...func(*runner.Options)) map[string]plan.Step {
	b.t.Helper()
	o := runner.Options{Pipeline: b.pipeline(), Store: b.store, Workspace: b.dir}
	for _, f := range with {
		f(&o)
	}
	var st *state.State
	if snap, err := b.store.Load("PRD-001"); err == nil {
		st = snap.State
	}
	planned, err := runner.Preview(context.Background(), o, st)
	if err != nil {
		b.t.Fatal(err)
	}
	steps := make(map[string]plan.Step)
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			steps[s.Name] = s
		}
	}
	return steps
}

// TestWhenIsNotDecidedOnResultsThatAreMadeAnew: the when of a workstream uses a result
// that will be made again. The plan says that the workstream depends on that, and the
// build decides with the new result.
func TestWhenIsNotDecidedOnResultsThatAreMadeAnew(t *testing.T) {
	t.Parallel()
	conditions := map[string]string{
		"an output, in its phase": `
phase "one" {
  workstream "a" { script = A }
  workstream "b" {
    depends_on = [workstream.a]
    when       = workstream.a.outputs.x == "1"
    script     = "echo b >> ran"
    gate "check" {
      inputs  = ["in.txt"]
      command = ["sh", "-c", "echo check >> ran"]
    }
  }
}
`,
		"an output, of its phase": `
phase "one" {
  workstream "a" { script = A }
}
phase "two" {
  when = workstream.a.outputs.x == "1"
  workstream "b" {
    script = "echo b >> ran"
    gate "check" {
      inputs  = ["in.txt"]
      command = ["sh", "-c", "echo check >> ran"]
    }
  }
}
`,
		"a metric": `
phase "one" {
  workstream "a" { script = A }
}
phase "two" {
  workstream "b" {
    when   = metric.x == 1
    script = "echo b >> ran"
    gate "check" {
      inputs  = ["in.txt"]
      command = ["sh", "-c", "echo check >> ran"]
    }
  }
}
`,
	}
	const end = `
phase "last" {
  workstream "end" { script = "exit 1" }
}
`
	source := func(condition, x string) string {
		return strings.Replace(condition, "A", `"echo a >> ran; echo x=`+x+` >> $RUNNER_OUTPUT; echo metric.x=`+x+` >> $RUNNER_OUTPUT"`, 1) + end
	}
	for name, condition := range conditions {
		for _, was := range []string{"1", "2"} {
			t.Run(name+", from "+was, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, source(condition, was))
				wantDepends := func(when string) {
					t.Helper()
					steps := b.preview()
					for step, on := range map[string]string{"b": "a", "check (b)": "b"} {
						if s := steps[step]; s.Decision != plan.Depends || !slices.Equal(s.On, []string{on}) {
							t.Errorf("%s, the decision for %s is %s on %q (%s), want depends on %s", when, step, s.Decision, s.On, s.Reason, on)
						}
					}
				}
				ran := map[string][]string{"1": {"a", "b", "check"}, "2": {"a"}}
				wantDepends("at first")
				b.must(state.StatusFailed)
				b.wantRan(ran[was]...)
				if got, want := b.preview()["b"].Decision, map[string]plan.Decision{"1": plan.Reuse, "2": plan.Skipped}[was]; got != want {
					t.Errorf("with nothing changed, the decision for b is %s, want %s", got, want)
				}
				now := map[string]string{"1": "2", "2": "1"}[was]
				b.rewrite(source(condition, now))
				wantDepends("with a changed")
				b.must(state.StatusFailed)
				b.wantRan(ran[now]...)
				status := map[string]state.StepStatus{"1": state.Completed, "2": state.Skipped}[now]
				if got := b.state().Workstream("b").Status; got != status {
					t.Errorf("b is %s, want %s", got, status)
				}
			})
		}
	}
}

// TestPlanAndBuildAgreeOnWhatARunIs: a when that uses run has the same outcome in the
// plan and in the build.
func TestPlanAndBuildAgreeOnWhatARunIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" {
    when   = run.resumed
    script = "echo a >> ran"
  }
  workstream "b" { script = "exit 1" }
}
`)
	for _, want := range []plan.Decision{plan.Skipped, plan.Run, plan.Reuse} {
		if got := b.preview()["a"]; got.Decision != want {
			t.Errorf("the decision for a is %s (%s), want %s", got.Decision, got.Reason, want)
		}
		b.must(state.StatusFailed)
		if got := b.decision("a"); got != want {
			t.Errorf("the build decided %s for a, want %s", got, want)
		}
	}
	b.wantRan("a")
}

// TestInvalidatedWorkStaysInvalidatedWhileItsWhenIsOpen invalidates a workstream. The
// workstream stays invalidated in a run that can't decide its when.
func TestInvalidatedWorkStaysInvalidatedWhileItsWhenIsOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "a" { script = "echo a >> ran; test ! -e broken; echo x=1 >> $RUNNER_OUTPUT" }
  workstream "b" {
    depends_on = [workstream.a]
    when       = workstream.a.outputs.x == "1"
    script     = "echo b >> ran"
  }
}
phase "last" {
  workstream "end" { script = "exit 1" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("a", "b")
	b.write("broken", "")
	b.must(state.StatusFailed, func(o *runner.Options) { o.Select.Invalidate = []string{"a"} })
	b.wantRan("a")
	if w := b.state().Workstream("b"); w.Status != state.Pending || w.Reason == "" {
		t.Errorf("b is %s, %q", w.Status, w.Reason)
	}
	b.remove("broken")
	b.must(state.StatusFailed)
	b.wantRan("a", "b")
}

// TestWhenOnAMetricLooksAtWhoSetIt: a when uses a metric. The plan can decide the when
// although another workstream runs before it, because only the workstream that set the
// metric matters.
func TestWhenOnAMetricLooksAtWhoSetIt(t *testing.T) {
	t.Parallel()
	source := func(z string) string {
		return `
phase "one" {
  workstream "a" { script = "echo metric.x=1 >> $RUNNER_OUTPUT" }
  workstream "z" { script = "` + z + `" }
}
phase "two" {
  workstream "b" {
    when   = metric.x == 1
    script = "true"
  }
}
phase "last" {
  workstream "end" { script = "exit 1" }
}
`
	}
	b := newBench(t, source("true"))
	b.must(state.StatusFailed)
	b.rewrite(source("true  "))
	if s := b.preview()["b"]; s.Decision != plan.Reuse {
		t.Errorf("the decision for b is %s (%s)", s.Decision, s.Reason)
	}
}
