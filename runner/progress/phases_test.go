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

const phasedPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      command = ["a"]
      gate "look" {
        command = ["look"]
        pause   = true
      }
    }
    gate "vet" {
      command = ["vet"]
    }
    gate "sign" {
      approval { message = "Well?" }
    }
  }
  phase "two" {
    workstream "b" { command = ["b"] }
  }
  phase "three" {
    run_on = "always"
    workstream "c" { command = ["c"] }
  }
  phase "four" {
    run_on = "failed"
    workstream "d" { command = ["d"] }
  }
}
`

// phasesOf describes the phases of a run: ✓one 3s | two | three.
func phasesOf(p *progress.Progress) string {
	var behind, ahead []string
	for _, phase := range p.Behind() {
		mark := map[progress.Outcome]string{progress.Passed: "✓", progress.Failed: "✗", progress.Skipped: "-"}[phase.Outcome()]
		behind = append(behind, strings.TrimSuffix(fmt.Sprint(mark, phase.Name, " ", phase.Took), " 0s"))
	}
	for _, phase := range p.Ahead() {
		ahead = append(ahead, phase.Name)
	}
	current := ""
	if c := p.Current(); c != nil {
		current = c.Name
	}
	return fmt.Sprint(strings.Join(behind, " "), " | ", current, " | ", strings.Join(ahead, " "))
}

// TestBehindAndAhead: phases are behind the current one with what became of them and how long they took, or they come; after a
// failure only those come that run nevertheless.
func TestBehindAndAhead(t *testing.T) {
	t.Parallel()
	begin := func(phase, ws string) []state.Event {
		return []state.Event{state.PhaseStarted{Phase: phase}, state.WorkstreamStarted{Workstream: ws, Attempt: 1}}
	}
	passed := append(begin("one", "a"), state.WorkstreamCompleted{Workstream: "a"}, state.PhaseCompleted{Phase: "one", DurationMS: 1500})
	broken := append(begin("one", "a"), state.WorkstreamCompleted{Workstream: "a"}, state.GateFailed{Verdict: state.Verdict{Gate: "vet (one)"}})
	for name, test := range map[string]struct {
		events []state.Event // one in each second
		done   []string      // workstreams and gates that the plan leaves as they are
		want   string
	}{
		"nothing has begun":          {nil, nil, " |  | one two three"},
		"the first":                  {begin("one", "a"), nil, " | one | two three"},
		"between":                    {passed, nil, "✓one 1.5s |  | two three"},
		"the second":                 {append(passed, begin("two", "b")...), nil, "✓one 1.5s | two | three"},
		"it is skipped":              {append(passed, state.PhaseSkipped{Phase: "two"}), nil, "✓one 1.5s -two |  | three"},
		"after a failure":            {append(begin("one", "a"), state.WorkstreamFailed{Workstream: "a"}), nil, " | one | three four"},
		"an allowed failure":         {append(begin("one", "a"), state.WorkstreamFailed{Workstream: "a", Allowed: true}), nil, " | one | two three"},
		"a late phase":               {append(append(begin("one", "a"), state.WorkstreamFailed{Workstream: "a"}), begin("three", "c")...), nil, "✗one 3s | three | four"},
		"after a gate failed":        {append(broken, begin("three", "c")...), nil, "✗one 4s | three | "},
		"done before":                {begin("two", "b"), []string{"a", "look (a)", "vet (one)", "sign (one)"}, "✓one | two | three"},
		"a gate was not done before": {nil, []string{"a", "look (a)", "vet (one)"}, " |  | one two three"},
	} {
		_, p := phased(t, test.done...)
		for i, e := range test.events {
			p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
		}
		if diff := cmp.Diff(test.want, phasesOf(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// phased returns a run in which everything runs but some workstreams and gates.
func phased(t *testing.T, done ...string) (*pipeline.Pipeline, *progress.Progress) {
	t.Helper()
	known, planned := loaded(t, phasedPipeline)
	left := func(name string) plan.Decision {
		for _, d := range done {
			if d == name {
				return plan.Reuse
			}
		}
		return plan.Run
	}
	planned.Phases[0].Steps[0].Decision = left("a")
	for _, gate := range []string{"look (a)", "vet (one)", "sign (one)"} {
		planned.Phases[0].Steps = append(planned.Phases[0].Steps, plan.Step{Kind: plan.GateStep, Name: gate, Decision: left(gate)})
	}
	return known, progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, Parallel: 4})
}

// TestApprovals: gates of the current phase that a person has to answer are counted until they are answered, or nobody
// will be asked.
func TestApprovals(t *testing.T) {
	t.Parallel()
	one := []state.Event{state.PhaseStarted{Phase: "one"}, state.WorkstreamStarted{Workstream: "a", Attempt: 1}}
	look, sign := state.Verdict{Gate: "look (a)"}, state.Verdict{Gate: "sign (one)"}
	shape := state.Shape{Phases: []state.PhaseShape{{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "a"}}}}}
	with := func(more ...state.Event) []state.Event { return append(append([]state.Event(nil), one...), more...) }
	for name, test := range map[string]struct {
		events []state.Event
		done   []string
		want   string
	}{
		"no phase":                   {nil, nil, " 0"},
		"none is answered":           {one, nil, "look (a) 2"},
		"one passed, and waits":      {with(state.GatePassed{Verdict: look, Review: true}), nil, "look (a) 2"},
		"one was looked at":          {with(state.GatePassed{Verdict: look, Review: true}, state.GateReviewed{Gate: "look (a)"}), nil, "sign (one) 1"},
		"one is judged again":        {with(state.GateReviewed{Gate: "look (a)"}, state.GateVoided{Gate: "look (a)"}), nil, "look (a) 2"},
		"its workstream is complete": {with(state.WorkstreamCompleted{Workstream: "a"}), nil, "sign (one) 1"},
		"it runs again":              {with(state.WorkstreamCompleted{Workstream: "a"}, state.WorkstreamInvalidated{Workstream: "a"}), nil, "look (a) 2"},
		"one is asked":               {with(state.WorkstreamCompleted{Workstream: "a"}, state.GateAsked{Verdict: sign}), nil, "sign (one) 1"},
		"both are answered":          {with(state.GateSkipped{Gate: "look (a)"}, state.GateApproved{Verdict: sign}), nil, " 0"},
		"one was answered before":    {one, []string{"sign (one)"}, "look (a) 1"},
		"another phase":              {with(state.PhaseCompleted{Phase: "one"}, state.PhaseStarted{Phase: "two"}), nil, " 0"},
		"the phase is expanded":      {with(state.GateApproved{Verdict: sign}, state.PhaseExpanded{Phase: "one", Shape: shape}), nil, "look (a) 1"},
		"the phase is repeated":      {with(state.GateApproved{Verdict: sign}, state.PhaseRepeated{Phase: "one", Iteration: 2}), nil, "look (a) 2"},
	} {
		_, p := phased(t, test.done...)
		for i, e := range test.events {
			p.Commit(state.Commit{Time: at(i), Events: []state.Event{e}})
			p.Approvals()
		}
		first, n := p.Approvals()
		if got := fmt.Sprint(first, " ", n); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	p := progress.New(runner.Beginning{})
	p.Commit(state.Commit{Time: at(0), Events: []state.Event{state.PhaseStarted{Phase: "one"}, state.GateAsked{Verdict: sign}}})
	if first, n := p.Approvals(); first != "sign (one)" || n != 1 {
		t.Errorf("without the pipeline: %q %d", first, n)
	}
	known, planned := loaded(t, phasedPipeline)
	p = progress.New(runner.Beginning{Plan: planned, Pipeline: func() *pipeline.Pipeline { return known }, PauseAtGates: true})
	p.Commit(state.Commit{Time: at(0), Events: one})
	if _, n := p.Approvals(); n != 3 {
		t.Errorf("a run that pauses at each of three gates asks at %d", n)
	}
}
