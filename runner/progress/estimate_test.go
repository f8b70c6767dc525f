package progress_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
)

// TestLeft: what is left takes as long as the longest chain, or as everything divided by how many run at once,
// phase after phase, without what has run already. Without the time of a single workstream that is left, no
// estimate is made.
func TestLeft(t *testing.T) {
	t.Parallel()
	const source = `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" { command = ["a"] }
    workstream "b" { command = ["b"] }
    workstream "c" { command = ["c"] }
    workstream "d" {
      command    = ["d"]
      depends_on = [workstream.a]
    }
  }
  phase "two" {
    max_parallel = 1
    workstream "y" { command = ["y"] }
    workstream "z" { command = ["z"] }
  }
  phase "three" {
    run_on = "failed"
    workstream "mourn" { command = ["mourn"] }
  }
}
`
	typical := map[string]time.Duration{"a": 10 * time.Second, "b": 20 * time.Second, "c": 30 * time.Second, "d": 40 * time.Second, "y": time.Second, "z": 2 * time.Second}
	start := func(name string) state.Event { return state.WorkstreamStarted{Workstream: name, Attempt: 1} }
	end := func(name string) state.Event { return state.WorkstreamCompleted{Workstream: name} }
	one := state.PhaseStarted{Phase: "one"}
	for name, test := range map[string]struct {
		parallel int
		events   []state.Event // one in each second; it is the second after the last of them
		without  string        // a workstream whose time is not known
		planned  plan.Decision // about d
		want     time.Duration // 0: no estimate
	}{
		"the longest chain":        {8, []state.Event{one}, "", plan.Run, 50*time.Second + 3*time.Second},
		"one after the other":      {1, []state.Event{one}, "", plan.Run, 100*time.Second + 3*time.Second},
		"two at once":              {2, []state.Event{one}, "", plan.Run, 50*time.Second + 3*time.Second},
		"one has run for a while":  {8, []state.Event{one, start("b"), start("a")}, "", plan.Run, 49*time.Second + 3*time.Second},
		"one is done":              {8, []state.Event{one, start("a"), end("a")}, "", plan.Run, 40*time.Second + 3*time.Second},
		"one takes longer":         {8, []state.Event{one, start("a"), end("a"), start("d"), start("b"), end("b"), start("c"), end("c"), state.PauseAsked{}}, "", plan.Run, 0},
		"one is reused":            {8, []state.Event{one, start("a"), end("a")}, "", plan.Reuse, 30*time.Second + 3*time.Second},
		"only gates are judged":    {8, []state.Event{one, start("a"), end("a")}, "", plan.Judge, 30*time.Second + 3*time.Second},
		"the next attempt waits":   {8, []state.Event{one, start("a"), state.WorkstreamAttemptFailed{Workstream: "a", Attempt: 1, RetryInMS: 7000}}, "", plan.Run, 56*time.Second + 3*time.Second},
		"without a time of one":    {8, []state.Event{one}, "z", plan.Run, 0},
		"that one is not left":     {8, []state.Event{one, start("a"), end("a")}, "a", plan.Run, 40*time.Second + 3*time.Second},
		"after a failure":          {8, []state.Event{one, start("a"), state.WorkstreamFailed{Workstream: "a"}}, "", plan.Run, 0},
		"a person is waited for":   {8, []state.Event{one, state.GateAsked{Verdict: state.Verdict{Gate: "ship (one)"}}}, "", plan.Run, 0},
		"the limit is not known":   {0, []state.Event{one}, "", plan.Run, 0},
		"the second phase is left": {8, []state.Event{one, start("a"), end("a"), start("b"), end("b"), start("c"), end("c"), start("d"), end("d"), state.PhaseCompleted{Phase: "one"}}, "", plan.Run, 3 * time.Second},
	} {
		known, planned := loaded(t, source)
		planned.Phases[0].Steps[3].Decision = test.planned
		p := progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: test.parallel})
		for i, e := range test.events {
			p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
		}
		times := map[string]time.Duration{}
		for ws, took := range typical {
			if ws != test.without {
				times[ws] = took
			}
		}
		left, ok := p.Left(at(len(test.events)), times)
		if ok != (test.want > 0) || ok && left != test.want {
			t.Errorf("%s: %s is left, known %t, want %s", name, left, ok, test.want)
		}
	}
}
