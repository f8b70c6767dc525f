package plan_test

import (
	"errors"
	"slices"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// trades is a pipeline with two phases. In the first phase, hull and deck depend on
// nothing, and mast depends on hull. The gates judge their phases.
const trades = `
phase "build" {
  workstream "hull" { script = "hull" }
  workstream "mast" {
    depends_on = [workstream.hull]
    script     = "mast"
  }
  workstream "deck" { script = "deck" }
  gate "survey" { command = ["survey"] }
}
phase "fit" {
  workstream "sail" {
    for_each   = toset(["fore", "main"])
    depends_on = [workstream.mast]
    script     = "sail"
  }
  workstream "paint" { script = "paint" }
  gate "trial" { command = ["trial"] }
}
`

func TestSelection(t *testing.T) {
	t.Parallel()
	chosen := func(c plan.Selection) func(*session) {
		return func(s *session) { s.build(); s.selection = c }
	}
	first := func(c plan.Selection) func(*session) {
		return func(s *session) { s.selection = c }
	}
	tell(t, []story{
		{"from the first phase", trades, chosen(plan.Selection{From: "build"}), `
			hull: rerun: everything from build on runs again
			mast: rerun: everything from build on runs again
			deck: rerun: everything from build on runs again
			survey (build): depends: on the result of hull, mast and deck
			sail["fore"]: rerun: everything from build on runs again
			sail["main"]: rerun: everything from build on runs again
			paint: rerun: everything from build on runs again
			trial (fit): depends: on the result of sail["fore"], sail["main"] and paint`},
		{"from the second phase", trades, chosen(plan.Selection{From: "fit"}), `
			hull: reuse: nothing changed since it completed
			mast: reuse: nothing changed since it completed
			deck: reuse: nothing changed since it completed
			survey (build): reuse: passed, and nothing changed since
			sail["fore"]: rerun: everything from fit on runs again
			sail["main"]: rerun: everything from fit on runs again
			paint: rerun: everything from fit on runs again
			trial (fit): depends: on the result of sail["fore"], sail["main"] and paint`},
		{"invalidate one and what depends on it, through all phases", trades, chosen(plan.Selection{Invalidate: []string{"hull"}}), `
			hull: rerun: it was invalidated
			mast: rerun: it depends on hull, which was invalidated
			deck: reuse: nothing changed since it completed
			survey (build): depends: on the result of hull and mast
			sail["fore"]: rerun: it depends on hull, which was invalidated
			sail["main"]: rerun: it depends on hull, which was invalidated
			paint: reuse: nothing changed since it completed
			trial (fit): depends: on the result of sail["fore"] and sail["main"]`},
		{"invalidate two, one of which depends on the other", trades, chosen(plan.Selection{Invalidate: []string{"hull", "mast"}}), `
			hull: rerun: it was invalidated
			mast: rerun: it was invalidated
			deck: reuse: nothing changed since it completed
			survey (build): depends: on the result of hull and mast
			sail["fore"]: rerun: it depends on mast, which was invalidated
			sail["main"]: rerun: it depends on mast, which was invalidated
			paint: reuse: nothing changed since it completed
			trial (fit): depends: on the result of sail["fore"] and sail["main"]`},
		{"invalidate all instances of a block", trades, chosen(plan.Selection{Invalidate: []string{"sail"}}), `
			hull: reuse: nothing changed since it completed
			mast: reuse: nothing changed since it completed
			deck: reuse: nothing changed since it completed
			survey (build): reuse: passed, and nothing changed since
			sail["fore"]: rerun: it was invalidated
			sail["main"]: rerun: it was invalidated
			paint: reuse: nothing changed since it completed
			trial (fit): depends: on the result of sail["fore"] and sail["main"]`},
		{"invalidate one instance", trades, chosen(plan.Selection{Invalidate: []string{`sail["main"]`}}), `
			hull: reuse: nothing changed since it completed
			mast: reuse: nothing changed since it completed
			deck: reuse: nothing changed since it completed
			survey (build): reuse: passed, and nothing changed since
			sail["fore"]: reuse: nothing changed since it completed
			sail["main"]: rerun: it was invalidated
			paint: reuse: nothing changed since it completed
			trial (fit): depends: on the result of sail["main"]`},
		{"only one that is done", trades, chosen(plan.Selection{Only: []string{"paint"}}), `
			hull: reuse: nothing changed since it completed
			mast: reuse: nothing changed since it completed
			deck: reuse: nothing changed since it completed
			survey (build): reuse: passed, and nothing changed since
			sail["fore"]: reuse: nothing changed since it completed
			sail["main"]: reuse: nothing changed since it completed
			paint: rerun: it was chosen by --only
			trial (fit): depends: on the result of paint`},
		{"only one, before anything has run", trades, first(plan.Selection{Only: []string{"mast"}}), `
			hull: run: not run yet
			mast: run: not run yet
			deck: blocked: it was not chosen by --only
			survey (build): blocked: needs deck
			sail["fore"]: blocked: it was not chosen by --only
			sail["main"]: blocked: it was not chosen by --only
			paint: blocked: it was not chosen by --only
			trial (fit): blocked: needs sail["fore"], sail["main"] and paint`},
		{"only one of the second phase, which needs all of the first", trades, first(plan.Selection{Only: []string{"paint"}}), `
			hull: run: not run yet
			mast: run: not run yet
			deck: run: not run yet
			survey (build): depends: on the result of hull, mast and deck
			sail["fore"]: blocked: it was not chosen by --only
			sail["main"]: blocked: it was not chosen by --only
			paint: run: not run yet
			trial (fit): blocked: needs sail["fore"] and sail["main"]`},
		{"only one, and another one changed", trades, func(s *session) {
			s.build()
			s.edit(`"deck" }`, `"planks" }`)
			s.selection.Only = []string{"mast"}
		}, `
			hull: reuse: nothing changed since it completed
			mast: rerun: it was chosen by --only
			deck: blocked: it was not chosen by --only
			survey (build): blocked: needs deck
			sail["fore"]: blocked: it was not chosen by --only
			sail["main"]: blocked: it was not chosen by --only
			paint: reuse: nothing changed since it completed
			trial (fit): blocked: needs sail["fore"] and sail["main"]`},
		{"only one, and another one was killed", trades, func(s *session) {
			s.build()
			s.begin("deck")
			s.selection.Only = []string{"mast"}
		}, `
			hull: reuse: nothing changed since it completed
			mast: rerun: it was chosen by --only
			deck: blocked: it was not chosen by --only
			survey (build): blocked: needs deck
			sail["fore"]: blocked: it was not chosen by --only
			sail["main"]: blocked: it was not chosen by --only
			paint: reuse: nothing changed since it completed
			trial (fit): blocked: needs sail["fore"] and sail["main"]`},
		{"only one, and the gate of another one has passed", trades, func(s *session) {
			s.edit(`{ script = "paint" }`, "{\n script = \"paint\"\n gate \"dry\" { command = [\"dry\"] }\n}")
			s.build()
			s.selection.Only = []string{"sail"}
		}, `
			hull: reuse: nothing changed since it completed
			mast: reuse: nothing changed since it completed
			deck: reuse: nothing changed since it completed
			survey (build): reuse: passed, and nothing changed since
			sail["fore"]: rerun: it was chosen by --only
			sail["main"]: rerun: it was chosen by --only
			paint: reuse: nothing changed since it completed
			dry (paint): reuse: passed, and nothing changed since
			trial (fit): depends: on the result of sail["fore"] and sail["main"]`},
		{"only one, and a gate is new", trades, func(s *session) {
			s.build()
			s.edit(`{ script = "paint" }`, "{\n script = \"paint\"\n gate \"dry\" { command = [\"dry\"] }\n}")
			s.selection.Only = []string{"sail"}
		}, `
			hull: reuse: nothing changed since it completed
			mast: reuse: nothing changed since it completed
			deck: reuse: nothing changed since it completed
			survey (build): reuse: passed, and nothing changed since
			sail["fore"]: rerun: it was chosen by --only
			sail["main"]: rerun: it was chosen by --only
			paint: blocked: it was not chosen by --only
			dry (paint): blocked: needs paint
			trial (fit): blocked: needs paint`},
	})
}

// TestSelectionErrors: a selection names steps that the pipeline has and that can run.
func TestSelectionErrors(t *testing.T) {
	t.Parallel()
	once := "phase \"one\" {\n workstream \"mail\" {\n effect = \"once\"\n script = \"send\"\n}\n workstream \"log\" { script = \"log\" }\n}\n"
	for _, tt := range []struct {
		name      string
		selection plan.Selection
		want      string
	}{
		{"nothing", plan.Selection{}, ""},
		{"from a phase", plan.Selection{From: "one"}, ""},
		{"from an unknown phase", plan.Selection{From: "two"}, `--from: the pipeline has no phase "two" (it has one)`},
		{"only an unknown one", plan.Selection{Only: []string{"log", "x"}}, `--only: the pipeline has no workstream "x" (it has mail and log)`},
		{"invalidate an unknown one", plan.Selection{Invalidate: []string{"x"}}, `--invalidate: the pipeline has no workstream "x" (it has mail and log)`},
		{"repeat an unknown one", plan.Selection{Repeat: []string{"x"}}, `--repeat: the pipeline has no workstream "x" (it has mail and log)`},
		{"repeat one that may run again anyway", plan.Selection{Repeat: []string{"log"}}, `--repeat: log has no effect = "once"; --invalidate runs it again`},
		{"only an uncertain one", plan.Selection{Only: []string{"mail"}}, "--only: mail is uncertain, and must not run twice; resolve it first"},
		{"invalidate an uncertain one", plan.Selection{Invalidate: []string{"mail"}}, "--invalidate: mail is uncertain, and must not run twice; resolve it first"},
		{"only an uncertain one, and repeat it", plan.Selection{Only: []string{"mail"}, Repeat: []string{"mail"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, once)
			s.start()
			s.begin("mail")
			s.record(state.WorkstreamUncertain{Workstream: "mail"})
			_, err := plan.Choose(s.p, s.st, tt.selection)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestSelectionCheck: without a state, every step of the pipeline can be selected.
func TestSelectionCheck(t *testing.T) {
	t.Parallel()
	s := newSession(t, trades)
	if err := (plan.Selection{From: "fit", Only: []string{"sail"}}).Check(s.p); err != nil {
		t.Error(err)
	}
	var unknown *plan.SelectionError
	if err := (plan.Selection{Only: []string{"keel"}}).Check(s.p); !errors.As(err, &unknown) || unknown.Name != "keel" {
		t.Errorf("got %v", err)
	}
}

// TestLeftOut: a run with --only does not touch the workstreams that its plan blocked.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	s := newSession(t, trades)
	s.build()
	s.edit(`"deck" }`, `"planks" }`)
	s.edit(`"paint" }`, `"varnish" }`)
	s.selection.Only = []string{"deck"}
	s.start()
	pl := s.planner()
	p := pl.Plan(started)
	pl.BeginRun(s.st, p, true)

	allowed := slices.Collect(pl.Allowed())
	if !slices.Equal(allowed, []string{"deck"}) {
		t.Errorf("--only lets %q run", allowed)
	}
	if got := pl.ExclusionReason(s.p.Workstream("deck")); got != "" {
		t.Errorf("deck is excluded: %s", got)
	}
	if got := pl.ExclusionReason(s.p.Workstream("paint")); got != "it was not chosen by --only" {
		t.Errorf("paint is excluded: %q", got)
	}
	if pl.LeavesUntouched(s.p.Phases[0]) || !pl.LeavesUntouched(s.p.Phases[1]) {
		t.Error("want only the second phase to have a workstream that the run does not touch")
	}
	s.record(state.WorkstreamSkipped{Workstream: "paint", Reason: "its when is false"})
	if step, _ := pl.Workstream(s.p.Workstream("paint"), plan.When{}); step.Decision != plan.Blocked {
		t.Errorf("paint: %s", showStep(step))
	}
}
