package plan

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

func TestCallGoesOn(t *testing.T) {
	t.Parallel()
	with := func(status state.StepStatus, f *state.Failure) *state.Workstream {
		return &state.Workstream{Status: status, Call: "c", Error: f, Digest: state.Digest{Upstream: "u"}}
	}
	allowed := with(state.Failed, &state.Failure{Outcome: "exited"})
	allowed.Allowed = true
	changed := func(components ...string) (all []Change) {
		for _, c := range components {
			all = append(all, Change{Component: c})
		}
		return all
	}
	ranAgain := func(was, is string) []Change {
		return []Change{{Component: "upstream", Name: "login", Old: was, New: is}}
	}
	for name, test := range map[string]struct {
		rec      *state.Workstream
		changes  []Change
		upstream string
		want     bool
	}{
		"interrupted, and inputs have changed":    {with(state.Interrupted, nil), nil, "u, and inputs", false},
		"failed, and inputs have changed":         {with(state.Failed, nil), nil, "u, and inputs", false},
		"never called":                            {&state.Workstream{}, nil, "u", false},
		"interrupted":                             {with(state.Interrupted, nil), nil, "u", true},
		"failed":                                  {with(state.Failed, &state.Failure{Outcome: "exited"}), nil, "u", true},
		"failed, and upstream has changed":        {with(state.Failed, nil), nil, "v", false},
		"its artifacts were not made":             {with(state.Failed, &state.Failure{Outcome: state.OutcomeResult}), nil, "u", false},
		"a gate failed, which is allowed":         {with(state.Failed, &state.Failure{Outcome: "exited", Gate: "good"}), nil, "u", false},
		"invalidated, since it was edited":        {with(state.Pending, nil), nil, "u", true},
		"done, and rejected":                      {with(state.Completed, nil), nil, "u", false},
		"done, and edited":                        {with(state.Completed, nil), changed("definition"), "u", true},
		"done, and a variable has changed":        {with(state.Completed, nil), changed("variables", "definition"), "u", true},
		"done, and inputs have changed":           {with(state.Completed, nil), changed("inputs"), "u", false},
		"done, and inputs and definition":         {with(state.Succeeded, nil), changed("inputs", "definition"), "u", false},
		"done, and upstream has changed":          {with(state.Completed, nil), changed("upstream"), "v", false},
		"done, and made again for a secret":       {with(state.Completed, nil), ranAgain("x run 2", "x run 7"), "v", true},
		"done, and another secret":                {with(state.Completed, nil), ranAgain("x run 2", "y run 7"), "v", false},
		"done, and too many results to list":      {with(state.Completed, nil), changed("upstream"), "v", false},
		"done, and artifacts are gone":            {with(state.Completed, nil), changed("artifacts"), "u", false},
		"failed, which is allowed, and edited":    {allowed, changed("definition"), "u", true},
		"failed, which is allowed, and new files": {allowed, changed("inputs"), "u", false},
	} {
		digest := state.Digest{Upstream: strings.TrimSuffix(test.upstream, ", and inputs")}
		if digest.Upstream != test.upstream {
			digest.Inputs = "i"
		}
		if got := CallGoesOn(test.rec, test.changes, digest); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNeedSession: the plan blocks a call whose session is missing. It leaves open what becomes of
// one that a kill has cut short, since the call may have begun no session.
func TestNeedSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status   state.StepStatus
		missing  string
		decision Decision
		called   CalledSession
	}{
		"there":              {state.Failed, "", Run, Continues},
		"missing":            {state.Failed, "it is not here", Blocked, ""},
		"there, killed":      {state.Running, "", Run, Continues},
		"not there, killed":  {state.Running, "it is not here", Run, ""},
		"interrupted, there": {state.Interrupted, "", Run, Continues},
	} {
		facts := NewFacts(nil)
		facts.MissingSession = func(*pipeline.Workstream, *state.Workstream) string { return test.missing }
		pl := Planner{facts: facts}
		step := pl.needSession(subject{record: &state.Workstream{Status: test.status}}, Step{Decision: Run, Called: Continues})
		if step.Decision != test.decision || step.Called != test.called || test.decision == Blocked && string(step.Reason) != test.missing {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
