package plan_test

import (
	"encoding/json"
	"testing"

	"prdrunner/runner/plan"
)

// TestWhen: a workstream or a phase runs only if its when is true. A when that uses results
// of workstreams that are still to run is decided during the run.
func TestWhen(t *testing.T) {
	t.Parallel()
	const source = `
variable "deploy" { default = true }
---
phase "one" {
  workstream "a" {
    inputs = ["src"]
    script = "a"
  }
}
phase "two" {
  workstream "b" {
    when   = workstream.a.outputs.found == "yes" && var.deploy
    script = "b"
    gate "lint" { command = ["lint"] }
  }
  workstream "c" {
    depends_on = [workstream.b]
    run_on     = "always"
    script     = "c"
  }
}
phase "three" {
  when = var.deploy
  workstream "d" { script = "d" }
  gate "done" { command = ["done"] }
}
`
	found := func(answer string) func(*session) {
		return func(s *session) {
			s.gives["a"] = map[string]string{"found": answer}
			s.build()
		}
	}
	then := func(play func(*session), change func(*session)) func(*session) {
		return func(s *session) { play(s); change(s) }
	}
	invalidate := func(names ...string) func(*session) {
		return func(s *session) { s.selection.Invalidate = names }
	}
	edited := func(s *session) { s.write("src", "2") }
	tell(t, []story{
		{"nothing has run", source, func(*session) {}, `
			a: run: not run yet
			b: depends: whether it runs depends on the result of a
			lint (b): depends: on the result of b
			c: run: not run yet
			d: run: not run yet
			done (three): depends: on the result of d`},
		{"it was true", source, found("yes"), `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			lint (b): reuse: passed, and nothing changed since
			c: reuse: nothing changed since it completed
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"it was false", source, found("no"), `
			a: reuse: nothing changed since it completed
			b: skipped: its when is false
			lint (b): skipped: what it judges is skipped
			c: reuse: nothing changed since it completed
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"the result that it uses will change", source, then(found("yes"), edited), `
			a: rerun: inputs changed: src
			b: depends: whether it runs depends on the result of a
			lint (b): depends: on the result of b
			c: depends: on the result of b
			d: reuse: nothing changed since it completed
			done (three): judge: what it judges is not all declared, and src was added since the last run`},
		{"the result that it uses will change, and it was false", source, then(found("no"), edited), `
			a: rerun: inputs changed: src
			b: depends: whether it runs depends on the result of a
			lint (b): depends: on the result of b
			c: depends: on the result of b
			d: reuse: nothing changed since it completed
			done (three): judge: what it judges is not all declared, and src was added since the last run`},
		{"the result that it uses will change, and it is invalidated", source, then(then(found("yes"), edited), invalidate("b")), `
			a: rerun: inputs changed: src
			b: rerun: it was invalidated, if it is enabled, which depends on the result of a
			lint (b): depends: on the result of b
			c: rerun: it depends on b, which was invalidated
			d: reuse: nothing changed since it completed
			done (three): judge: what it judges is not all declared, and src was added since the last run`},
		{"it is invalidated and was skipped", source, then(found("no"), invalidate("b")), `
			a: reuse: nothing changed since it completed
			b: skipped: its when is false
			lint (b): skipped: what it judges is skipped
			c: rerun: it depends on b, which was invalidated
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"it is false now", source, then(found("yes"), func(s *session) { s.set("deploy", "false") }), `
			a: reuse: nothing changed since it completed
			b: skipped: its when is false
			lint (b): skipped: what it judges is skipped
			c: rerun: upstream changed: b
			d: skipped: the when of its phase is false
			done (three): skipped: what it judges is skipped`},
		{"it can't be evaluated", source, then(found("yes"), func(s *session) { s.edit("outputs.found", "outputs.lost") }), `
			a: reuse: nothing changed since it completed
			b: run: its when can't be evaluated: Missing output
			lint (b): depends: on the result of b
			c: depends: on the result of b
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"it can't be evaluated, and it is invalidated", source, then(found("yes"), func(s *session) {
			s.edit("outputs.found", "outputs.lost")
			s.selection.Invalidate = []string{"b"}
		}), `
			a: reuse: nothing changed since it completed
			b: rerun: it was invalidated, but its when can't be evaluated: Missing output
			lint (b): depends: on the result of b
			c: rerun: it depends on b, which was invalidated
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"it can't be evaluated, and a when of the phase is false", source, then(found("yes"), func(s *session) {
			s.edit(`phase "two" {`, "phase \"two\" {\n when = false")
			s.edit("outputs.found", "outputs.lost")
		}), `
			a: reuse: nothing changed since it completed
			b: skipped: the when of its phase is false
			lint (b): skipped: what it judges is skipped
			c: skipped: the when of its phase is false
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"the when of its phase uses such a result, too", source, then(then(found("yes"), edited), func(s *session) {
			s.edit(`phase "two" {`, "phase \"two\" {\n when = workstream.a.outputs.found == \"no\"")
		}), `
			a: rerun: inputs changed: src
			b: depends: whether it runs depends on the result of a
			lint (b): depends: on the result of b
			c: depends: whether it runs depends on the result of a
			d: reuse: nothing changed since it completed
			done (three): judge: what it judges is not all declared, and src was added since the last run`},
		{"the workstream that it uses is uncertain", source, then(found("yes"), func(s *session) {
			s.edit(`["src"]`, "[\"src\"]\n effect = \"once\"")
			s.write("src", "2")
		}), `
			a: uncertain: it has happened already, on 2026-05-04 09:03 UTC in session S1, and must not run twice, but inputs changed: src; definition changed
			b: blocked: needs a
			lint (b): blocked: needs b
			c: blocked: needs b
			d: reuse: nothing changed since it completed
			done (three): judge: what it judges is not all declared, and src was added since the last run`},
		{"it was killed", source, then(found("yes"), func(s *session) { s.begin("b") }), `
			a: reuse: nothing changed since it completed
			b: run: attempt 2 was interrupted
			lint (b): depends: on the result of b
			c: depends: on the result of b
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"a once step was killed, and whether it is enabled is open", source, func(s *session) {
			s.edit(`script = "b"`, "script = \"b\"\n effect = \"once\"")
			found("yes")(s)
			s.write("src", "2")
			s.begin("b")
			s.write("src", "3")
		}, `
			a: rerun: inputs changed: src
			b: uncertain: attempt 2 was started, and its end was never recorded
			lint (b): blocked: needs b
			c: blocked: needs b
			d: reuse: nothing changed since it completed
			done (three): judge: what it judges is not all declared, and src was added since the last run`},
		{"a once step was killed, and its when can't be evaluated", source, func(s *session) {
			s.edit(`script = "b"`, "script = \"b\"\n effect = \"once\"")
			found("yes")(s)
			s.begin("b")
			s.edit("outputs.found", "outputs.lost")
		}, `
			a: reuse: nothing changed since it completed
			b: uncertain: attempt 2 was started, and its end was never recorded
			lint (b): blocked: needs b
			c: blocked: needs b
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"a once step has happened, and is invalidated while its when can't be evaluated", source, func(s *session) {
			s.edit(`script = "b"`, "script = \"b\"\n effect = \"once\"")
			found("yes")(s)
			s.edit("outputs.found", "outputs.lost")
			s.selection.Invalidate = []string{"b"}
		}, `
			a: reuse: nothing changed since it completed
			b: run: its when can't be evaluated: Missing output
			lint (b): depends: on the result of b
			c: rerun: it depends on b, which was invalidated
			d: reuse: nothing changed since it completed
			done (three): reuse: passed, and nothing changed since`},
		{"its phase was skipped", source, func(s *session) { s.set("deploy", "false"); found("yes")(s) }, `
			a: reuse: nothing changed since it completed
			b: skipped: its when is false
			lint (b): skipped: what it judges is skipped
			c: reuse: nothing changed since it completed
			d: skipped: the when of its phase is false
			done (three): skipped: what it judges is skipped`},
		{"its phase was skipped, and is enabled now", source, func(s *session) {
			s.set("deploy", "false")
			found("yes")(s)
			s.set("deploy", "true")
		}, `
			a: reuse: nothing changed since it completed
			b: run: was skipped, and is enabled now
			lint (b): depends: on the result of b
			c: depends: on the result of b
			d: run: was skipped, and is enabled now
			done (three): depends: on the result of d`},
	})
}

// TestWhenMetric: any workstream that runs may report the metric that a when uses.
func TestWhenMetric(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "test" {
    inputs = ["src"]
    effect = "once"
    script = "test"
  }
}
phase "two" {
  when = metric.coverage > 80
  workstream "publish" { script = "publish" }
}
`
	reported := func(s *session) {
		s.reports["test"] = map[string]any{"coverage": json.Number("84")}
		s.build()
	}
	tell(t, []story{
		{"it has not been reported yet", source, func(*session) {}, `
			test: run: not run yet
			publish: depends: whether it runs depends on the result of test`},
		{"it was reported", source, reported, `
			test: reuse: nothing changed since it completed
			publish: reuse: nothing changed since it completed`},
		{"the workstream that reported it is uncertain", source, func(s *session) { reported(s); s.write("src", "2") }, `
			test: uncertain: it has happened already, on 2026-05-04 09:03 UTC in session S1, and must not run twice, but inputs changed: src
			publish: blocked: needs test`},
		{"it was never reported", source, func(s *session) { s.start(); s.run("test") }, `
			test: reuse: nothing changed since it completed
			publish: run: the when of its phase can't be evaluated: Metric not available`},
		{"the workstream that may report it is uncertain", source, func(s *session) { s.start(); s.begin("test") }, `
			test: uncertain: attempt 1 was started, and its end was never recorded
			publish: run: not run yet`},
		{"the workstream that may report it is uncertain, and another one runs", source, func(s *session) {
			s.edit(`phase "one" {`, "phase \"one\" {\n workstream \"more\" { script = \"more\" }\n")
			s.start()
			s.begin("test")
		}, `
			more: run: not run yet
			test: uncertain: attempt 1 was started, and its end was never recorded
			publish: depends: whether it runs depends on the result of more`},
	})
}

// TestWhenOfRun: a run evaluates a when just before its workstream starts.
func TestWhenOfRun(t *testing.T) {
	t.Parallel()
	s := newSession(t, "phase \"one\" {\n workstream \"a\" {\n when = 1 == 2\n script = \"a\"\n }\n}\n")
	s.start()
	pl, ws := s.planner(), s.p.Workstream("a")
	enabled, diags := ws.Enabled(pl.Results(false, 1))
	var e plan.When
	e.SetOutcome("its when", enabled, diags)
	step, _ := pl.Workstream(ws, e)
	expect(t, showStep(step), "a: skipped: its when is false")
	e.SetOutcome("its when", true, nil)
	if step, _ := pl.Step("a"); step.Decision != plan.Skipped {
		t.Errorf("the planner has forgotten its decision: %s", showStep(step))
	}
}
