package plan_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// TestRunDecidesAgain: during a run, the planner decides from the present state. The
// decision for a gate that depended on a workstream changes once the workstream has run.
func TestRunDecidesAgain(t *testing.T) {
	t.Parallel()
	s := newSession(t, judged)
	passed(s)
	s.write("src", "2")
	s.start()
	pl := s.planner()
	p := pl.Plan(started)
	pl.BeginRun(s.st, p, true)
	pl.SetBeginCommit(s.st.Seq)

	check := s.p.Gate("check (one)")
	if got, _ := pl.Gate(check); got.Decision != plan.Depends {
		t.Errorf("before the run: %s", showStep(got))
	}
	s.makes["a"]["out"] = "2"
	s.run("a")
	pl.SetDecision("a", plan.Reuse)
	if got, _ := pl.Gate(check); got.Decision != plan.Judge || got.Reason != "a runs again" {
		t.Errorf("after a has run: %s", showStep(got))
	}
	pl.SetDecision("a", plan.Blocked)
	if got, _ := pl.Gate(check); got.Decision != plan.Blocked {
		t.Errorf("after a has failed: %s", showStep(got))
	}
	pl.SetStep(plan.Step{Kind: plan.WorkstreamStep, Name: "a", Decision: plan.Skipped, Reason: "its when is false"})
	if got, ok := pl.Step("a"); !ok || got.Reason != "its when is false" {
		t.Errorf("the last decision: %s", showStep(got))
	}
	if _, ok := pl.Step("none"); ok {
		t.Error("there is a decision about an unknown workstream")
	}
}

// TestRunRepeats: once a run has recorded --repeat, the record alone decides.
func TestRunRepeats(t *testing.T) {
	t.Parallel()
	s := newSession(t, mail)
	s.build()
	s.selection.Repeat = []string{"mail"}
	s.start()
	pl := s.planner()
	pl.BeginRun(s.st, pl.Plan(started), true)
	mailing := s.p.Workstream("mail")
	if got, _ := pl.Workstream(mailing, plan.When{}); got.Repeats || got.Decision != plan.Reuse {
		t.Errorf("before it is recorded: %s", showStep(got))
	}
	s.record(
		state.WorkstreamUncertain{Workstream: "mail"},
		state.WorkstreamResolved{Workstream: "mail", Resolution: state.ResolvedRerun, Reason: plan.RepeatReason},
	)
	if got, _ := pl.Workstream(mailing, plan.When{}); got.Repeats || got.Decision != plan.Rerun {
		t.Errorf("after it is recorded: %s", showStep(got))
	}
}

// TestResults: expressions may refer to outputs, artifacts and metrics of completed work.
func TestResults(t *testing.T) {
	t.Parallel()
	s := newSession(t, chain)
	s.makes["a"], s.gives["a"] = map[string]string{"out": "1"}, map[string]string{"id": "7"}
	s.reports["a"] = map[string]any{"m": true}
	s.start()
	s.run("a")
	s.record(state.WorkstreamSkipped{Workstream: "b"})
	r := s.planner().Results(true, 3)
	if a, ok := r.Workstream("a"); !ok || a.Outputs["id"] != "7" || len(a.Artifacts) != 1 || a.Artifacts[0] != "out" || a.Status != pipeline.StatusCompleted {
		t.Errorf("a: %+v", a)
	}
	if b, ok := r.Workstream("b"); !ok || b.Status != pipeline.StatusSkipped {
		t.Errorf("b: %+v", b)
	}
	for _, name := range []string{"c", "none"} {
		if got, ok := r.Workstream(name); ok {
			t.Errorf("%s has not run, but its result is %+v", name, got)
		}
	}
	if r.Metrics["m"] != true || r.Run.Attempt != 3 || r.Run.Session != "S1" || !r.Run.Resumed {
		t.Errorf("metrics %v, run %+v", r.Metrics, r.Run)
	}
	if r := s.planner().Results(false, 1); r.Workstream != nil || r.Metrics != nil {
		t.Error("results were returned, although none were needed")
	}
	s.rewrite(strings.NewReplacer(`"a"`, `"x"`, "workstream.a", "workstream.x").Replace(s.body))
	if r := s.planner().Results(true, 1); len(r.Metrics) != 0 {
		t.Errorf("a has left the pipeline, but its metrics are %v", r.Metrics)
	}
}
