package progress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
)

const waitingPipeline = `
pipeline "PRD-001" {
  service "db" {
    command = ["db"]
  }
  phase "one" {
    workstream "a" { command = ["a"] }
    workstream "b" { command = ["b"] }
    workstream "fan" {
      for_each   = toset(["x", "y"])
      command    = ["fan"]
      depends_on = [workstream.a, workstream.b]
    }
    workstream "late" {
      command    = ["late"]
      depends_on = [workstream.fan]
    }
    workstream "stored" {
      command  = ["stored"]
      services = [service.db]
    }
    gate "ship" {
      approval { message = "Ship it?" }
    }
  }
  phase "two" {
    workstream "z" { command = ["z"] }
  }
}
`

// loaded returns a pipeline and a plan in which everything runs.
func loaded(t *testing.T, source string) (*pipeline.Pipeline, *plan.Plan) {
	t.Helper()
	file, diags := pipeline.Parse([]byte(source), "PRD-001.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := file.Pipeline(pipeline.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	planned := &plan.Plan{}
	for _, phase := range p.Phases {
		pp := plan.Phase{Name: phase.Name, Number: phase.Number, RunOn: phase.RunOn}
		for _, ws := range phase.Workstreams {
			pp.Steps = append(pp.Steps, plan.Step{Kind: plan.WorkstreamStep, Name: ws.Name, Decision: plan.Run})
		}
		planned.Phases = append(planned.Phases, pp)
	}
	return p, planned
}

// TestWaits: workstreams wait for others of their phase, for their gates and for services; the next phase waits
// for the gates of the current one; and after a failure, a request to pause and the end nothing waits.
func TestWaits(t *testing.T) {
	t.Parallel()
	start := func(name string) state.Event { return state.WorkstreamStarted{Workstream: name, Attempt: 1} }
	end := func(name string) state.Event { return state.WorkstreamCompleted{Workstream: name} }
	one := state.PhaseStarted{Phase: "one"}
	everything := []state.Event{one, start("a"), end("a"), start("b"), end("b"), start(`fan["x"]`), end(`fan["x"]`), start(`fan["y"]`), end(`fan["y"]`), start("late"), end("late"), start("stored"), end("stored")}
	for name, test := range map[string]struct {
		events []state.Event
		want   string
	}{
		"nothing has begun":     {nil, ""},
		"two run":               {[]state.Event{one, start("a"), start("b")}, `fan["x"] fan["y"] for a b; late for fan["x"] fan["y"]; stored for service db`},
		"one has ended":         {[]state.Event{one, start("a"), start("b"), end("a")}, `fan["x"] fan["y"] for b; late for fan["x"] fan["y"]; stored for service db`},
		"one is judged":         {[]state.Event{one, start("a"), end("a"), start("b"), state.WorkstreamSucceeded{Workstream: "b"}, state.GateStarted{Gate: "lint (b)"}}, `fan["x"] fan["y"] for lint (b); late for fan["x"] fan["y"]; stored for service db`},
		"a service gets ready":  {[]state.Event{one, state.ServiceStarted{Service: "db"}, start("a"), end("a"), start("b"), end("b")}, `late for fan["x"] fan["y"]; stored for service db`},
		"a service is ready":    {[]state.Event{one, state.ServiceStarted{Service: "db"}, state.ServiceReady{Service: "db"}, start("a"), end("a"), start("b"), end("b")}, `late for fan["x"] fan["y"]`},
		"an approval is open":   {append(everything, state.GateAsked{Verdict: state.Verdict{Gate: "ship (one)"}}), `phase two for ship (one)`},
		"after a failure":       {[]state.Event{one, start("a"), start("b"), state.WorkstreamFailed{Workstream: "a"}}, ""},
		"an allowed failure":    {[]state.Event{one, start("a"), start("b"), state.WorkstreamFailed{Workstream: "a", Allowed: true}}, `fan["x"] fan["y"] for b; late for fan["x"] fan["y"]; stored for service db`},
		"a pause is asked for":  {[]state.Event{one, start("a"), state.PauseAsked{}}, ""},
		"the run has ended":     {[]state.Event{one, start("a"), state.SessionPaused{}}, ""},
		"the phase is repeated": {append(everything, state.PhaseRepeated{Phase: "one", Iteration: 2}, start("a")), `fan["x"] fan["y"] for a b; late for fan["x"] fan["y"]; stored for service db`},
	} {
		known, planned := loaded(t, waitingPipeline)
		p := progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 4})
		for i, e := range test.events {
			p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
			p.Waits() // what it found holds until the next event
		}
		var got []string
		waits, _ := p.Waits()
		for _, w := range waits {
			got = append(got, strings.Join(w.Steps, " ")+" for "+strings.Join(w.For, " "))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWaitsOfMany: for a hundred workstreams it is said what they wait for, and the others are counted.
func TestWaitsOfMany(t *testing.T) {
	t.Parallel()
	known, planned := loaded(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "first" { command = ["first"] }
    workstream "p" {
      for_each   = toset([for i in range(130) : tostring(i)])
      command    = ["p"]
      depends_on = [workstream.first]
    }
  }
}
`)
	p := progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 2})
	p.Commit(state.Commit{Events: []state.Event{state.PhaseStarted{Phase: "one"}, state.WorkstreamStarted{Workstream: "first", Attempt: 1}}})
	waits, more := p.Waits()
	if got := fmt.Sprint(len(waits), len(waits[0].Steps), waits[0].For, more, p.HasFreeSlot()); got != "1 100 [first] 30 true" {
		t.Error(got)
	}
	p.Commit(state.Commit{Events: []state.Event{state.GateStarted{Gate: "lint (x)"}, state.ServiceReady{Service: "db"}}})
	if p.HasFreeSlot() {
		t.Error("two processes of steps run, of two at most, and there is a free slot")
	}
}

// TestFreeSlotOfAPhase: a slot is free as far as the phase allows.
func TestFreeSlotOfAPhase(t *testing.T) {
	t.Parallel()
	known, planned := loaded(t, `
pipeline "PRD-001" {
  phase "one" {
    max_parallel = 1
    workstream "a" { command = ["a"] }
    workstream "b" { command = ["b"] }
  }
  phase "two" {
    workstream "c" { command = ["c"] }
    workstream "d" { command = ["d"] }
  }
}
`)
	p := progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 4})
	for _, step := range []struct {
		event state.Event
		free  bool
	}{
		{state.PhaseStarted{Phase: "one"}, true},
		{state.WorkstreamStarted{Workstream: "a", Attempt: 1}, false},
		{state.WorkstreamCompleted{Workstream: "a"}, true},
		{state.PhaseCompleted{Phase: "one"}, true},
		{state.PhaseStarted{Phase: "two"}, true},
		{state.WorkstreamStarted{Workstream: "c", Attempt: 1}, true},
	} {
		p.Commit(state.Commit{Events: []state.Event{step.event}})
		if got := p.HasFreeSlot(); got != step.free {
			t.Errorf("after %+v, a slot is free: %t", step.event, got)
		}
	}
}
