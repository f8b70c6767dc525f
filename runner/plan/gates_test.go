package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// judged is a pipeline with a workstream that has a gate, a phase that has a gate, and a
// phase that depends on neither.
const judged = `
variable "v" { default = "1" }
---
phase "one" {
  workstream "a" {
    inputs    = ["src"]
    artifacts = ["out"]
    script    = "a"
    gate "lint" { command = ["lint", var.v] }
  }
  gate "check" {
    inputs  = ["out", "rules"]
    command = ["check"]
  }
}
phase "two" {
  workstream "b" { script = "b" }
  gate "free" { command = ["free"] }
  gate "sign-off" {
    approval { message = "Publish?" }
  }
}
`

// passed plays a run of judged in which all gates pass.
func passed(s *session) {
	s.makes["a"] = map[string]string{"out": "1"}
	s.write("src", "1")
	s.write("rules", "1")
	s.build()
}

func TestGates(t *testing.T) {
	t.Parallel()
	failed := func(label string) func(*session) {
		return func(s *session) {
			passed(s)
			s.record(state.GateFailed{Verdict: s.verdict(label), Error: state.Failure{Message: "exit code 1"}})
		}
	}
	tell(t, []story{
		{"nothing has run", judged, func(*session) {}, `
			a: run: not run yet
			lint (a): depends: on the result of a
			check (one): depends: on the result of a
			b: run: not run yet
			free (two): depends: on the result of b
			sign-off (two): depends: on the result of b`},
		{"nothing changed", judged, passed, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"a file changed that one of them judges", judged, func(s *session) { passed(s); s.write("rules", "2") }, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): judge: what it judged changed: rules
			b: reuse: nothing changed since it completed
			free (two): judge: what it judges is not all declared, and rules was modified since the last run
			sign-off (two): judge: what it judges is not all declared, and rules was modified since the last run`},
		{"a file changed that none of them names", judged, func(s *session) { passed(s); s.write("README", "1") }, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): judge: what it judges is not all declared, and README was added since the last run
			sign-off (two): judge: what it judges is not all declared, and README was added since the last run`},
		{"an artifact is missing, and is restored", judged, func(s *session) { passed(s); s.remove("out") }, `
			a: reuse: out is missing, and is restored [restores [out]]
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): judge: what it judges is not all declared, and out was deleted since the last run
			sign-off (two): judge: what it judges is not all declared, and out was deleted since the last run`},
		{"an input of the workstream changed", judged, func(s *session) { passed(s); s.write("src", "2") }, `
			a: rerun: inputs changed: src
			lint (a): depends: on the result of a
			check (one): depends: on the result of a
			b: reuse: nothing changed since it completed
			free (two): judge: what it judges is not all declared, and src was modified since the last run
			sign-off (two): judge: what it judges is not all declared, and src was modified since the last run`},
		{"a definition changed", judged, func(s *session) { passed(s); s.set("v", "2") }, `
			a: judge: the work is kept; lint (a) is judged
			lint (a): judge: its definition changed
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"a definition can't be evaluated", judged, func(s *session) {
			passed(s)
			s.edit(`["lint", var.v]`, `["lint", workstream.a.outputs.id]`)
		}, `
			a: judge: the work is kept; lint (a) is judged
			lint (a): judge: its definition changed
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"a gate of the workstream is new", judged, func(s *session) {
			passed(s)
			s.edit(`gate "lint"`, "gate \"test\" { command = [\"test\"] }\n gate \"lint\"")
		}, `
			a: judge: the work is done; test (a) comes next
			test (a): run: not judged yet
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"it failed", judged, failed("lint (a)"), `
			a: judge: the work is done; lint (a) comes next
			lint (a): judge: it failed: exit code 1
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"it failed, and on_gate_failure is rerun", judged, func(s *session) {
			s.edit(`    script    = "a"`, "script = \"a\"\n on_gate_failure = \"rerun\"")
			failed("lint (a)")(s)
		}, `
			a: rerun: lint (a) failed, and on_gate_failure is rerun
			lint (a): depends: on the result of a
			check (one): depends: on the result of a
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"a gate of the phase failed", judged, failed("check (one)"), `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): judge: it failed: exit code 1
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"it was rejected", judged, func(s *session) {
			passed(s)
			s.record(state.GateRejected{Verdict: s.verdict("sign-off (two)"), Reason: "no"})
		}, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: rerun: sign-off (two) was rejected: no
			free (two): depends: on the result of b
			sign-off (two): depends: on the result of b`},
		{"it was asked", judged, func(s *session) {
			passed(s)
			s.record(state.GateAsked{Verdict: s.verdict("sign-off (two)")})
		}, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): judge: it waits for an approval`},
		{"Runner was killed while it was judged", judged, func(s *session) {
			passed(s)
			s.record(state.GateStarted{Gate: "lint (a)", Attempt: 2})
		}, `
			a: judge: the work is done; lint (a) comes next
			lint (a): judge: its verdict was never recorded
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"its verdict was taken back", judged, func(s *session) {
			passed(s)
			s.record(state.GateVoided{Gate: "check (one)", Reason: "it was interrupted"})
		}, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): judge: it was interrupted
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since`},
		{"it was skipped", judged, func(s *session) {
			passed(s)
			s.record(state.GateSkipped{Gate: "free (two)", Reason: "it was skipped"})
		}, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): run: was skipped, and is enabled now
			sign-off (two): reuse: passed, and nothing changed since`},
		{"from a phase whose workstreams have no instance", judged + `phase "three" {
  workstream "c" {
    for_each = toset([])
    script   = "c"
  }
  gate "last" { command = ["last"] }
}`, func(s *session) {
			passed(s)
			s.selection.From = "three"
		}, `
			a: reuse: nothing changed since it completed
			lint (a): reuse: passed, and nothing changed since
			check (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			free (two): reuse: passed, and nothing changed since
			sign-off (two): reuse: passed, and nothing changed since
			last (three): judge: everything from three on runs again`},
		{"it judges an artifact of an earlier phase that is made again", judged, func(s *session) {
			s.edit(`{ command = ["free"] }`, "{\n command = [\"free\"]\n inputs = [\"out\"]\n }")
			passed(s)
			s.write("src", "2")
		}, `
			a: rerun: inputs changed: src
			lint (a): depends: on the result of a
			check (one): depends: on the result of a
			b: reuse: nothing changed since it completed
			free (two): depends: whether its verdict holds depends on the result of a
			sign-off (two): judge: what it judges is not all declared, and src was modified since the last run`},
		{"an earlier session judged it", judged, func(s *session) {
			passed(s)
			s.record(state.SessionCompleted{})
			s.st = s.st.CarryOver()
		}, `
			a: reuse: nothing changed since it completed in session S1 of 2026-05-04 09:03 UTC
			lint (a): reuse: passed in session S1 of 2026-05-04 09:04 UTC, and nothing changed since
			check (one): reuse: passed in session S1 of 2026-05-04 09:06 UTC, and nothing changed since
			b: reuse: nothing changed since it completed in session S1 of 2026-05-04 09:08 UTC
			free (two): reuse: passed in session S1 of 2026-05-04 09:10 UTC, and nothing changed since
			sign-off (two): reuse: passed in session S1 of 2026-05-04 09:12 UTC, and nothing changed since`},
	})
}

// TestGatesUndeclared: a gate that does not name the files that it judges may judge any
// file. Its verdict holds only if the workspace is known to be unchanged.
func TestGatesUndeclared(t *testing.T) {
	t.Parallel()
	const unnamed = `
phase "one" {
  workstream "a" { script = "a" }
  gate "check" { command = ["check"] }
  gate "ok" {
    approval { message = "Publish?" }
  }
  gate "cond" {
    condition     = 1 == 1
    error_message = "never"
  }
}
`
	tell(t, []story{
		{"nothing changed", unnamed, func(s *session) { s.build() }, `
			a: reuse: nothing changed since it completed
			check (one): reuse: passed, and nothing changed since
			ok (one): reuse: passed, and nothing changed since
			cond (one): reuse: passed, and nothing changed since`},
		{"a file changed", unnamed, func(s *session) { s.build(); s.write("README", "1") }, `
			a: reuse: nothing changed since it completed
			check (one): judge: what it judges is not all declared, and README was added since the last run
			ok (one): judge: what it judges is not all declared, and README was added since the last run
			cond (one): reuse: passed, and nothing changed since`},
		{"nothing proves that nothing changed", unnamed, func(s *session) {
			s.build()
			s.adjust = func(f *plan.Facts) { f.NoCaptureReason = "the last capture is lost" }
		}, `
			a: reuse: nothing changed since it completed
			check (one): judge: what it judges is not all declared, and the last capture is lost
			ok (one): reuse: passed, and nothing changed since
			cond (one): reuse: passed, and nothing changed since`},
		{"a file changed in the last run after it had passed", unnamed, func(s *session) {
			s.build()
			s.adjust = func(f *plan.Facts) { f.ChangedInRun["check (one)"] = "README was modified after it was judged" }
		}, `
			a: reuse: nothing changed since it completed
			check (one): judge: what it judges is not all declared, and README was modified after it was judged
			ok (one): reuse: passed, and nothing changed since
			cond (one): reuse: passed, and nothing changed since`},
	})
}

// TestGatesReview: a gate with pause = true stops the run, once for each verdict.
func TestGatesReview(t *testing.T) {
	t.Parallel()
	const paused = `
phase "one" {
  workstream "a" {
    inputs = ["src"]
    script = "a"
    gate "check" {
      inputs  = ["src"]
      command = ["check"]
      pause   = true
    }
  }
  workstream "b" {
    depends_on = [workstream.a]
    script     = "b"
  }
}
`
	tell(t, []story{
		{"the run ended before the review", paused, func(s *session) { s.build() }, `
			a: judge: the work is kept; check (a) is still to be reviewed
			check (a): reuse: passed, and the build stops for its review [review]
			b: reuse: nothing changed since it completed`},
		{"--only leaves the workstream out", paused, func(s *session) { s.build(); s.selection.Only = []string{"b"} }, `
			a: judge: the work is kept; check (a) is still to be reviewed
			check (a): reuse: passed, and the build stops for its review [review]
			b: rerun: it was chosen by --only`},
		{"the session is paused for the review", paused, func(s *session) {
			s.build()
			s.record(state.SessionPaused{Reason: state.PauseReview, Gates: []string{"check (a)"}})
		}, `
			a: reuse: nothing changed since it completed
			check (a): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed`},
		{"the session is paused for another review", paused, func(s *session) {
			s.build()
			s.record(state.SessionPaused{Reason: state.PauseReview, Gates: []string{"check (b)"}})
		}, `
			a: judge: the work is kept; check (a) is still to be reviewed
			check (a): reuse: passed, and the build stops for its review [review]
			b: reuse: nothing changed since it completed`},
		{"the session is paused for another reason", paused, func(s *session) {
			s.build()
			s.record(state.SessionPaused{Reason: state.PauseRequested, Gates: []string{"check (a)"}})
		}, `
			a: judge: the work is kept; check (a) is still to be reviewed
			check (a): reuse: passed, and the build stops for its review [review]
			b: reuse: nothing changed since it completed`},
		{"it was reviewed", paused, func(s *session) { s.build(); s.record(state.GateReviewed{Gate: "check (a)"}) }, `
			a: reuse: nothing changed since it completed
			check (a): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed`},
	})
}

// TestGatesMetric: a verdict on a metric is bound to the value of the metric.
func TestGatesMetric(t *testing.T) {
	t.Parallel()
	const covered = `
phase "one" {
  workstream "test" {
    inputs = ["src"]
    script = "test"
  }
}
phase "two" {
  workstream "b" { script = "b" }
  gate "coverage" {
    metric = "coverage"
    min    = 80
  }
  gate "enough" {
    condition     = metric.coverage > 70
    error_message = "too little"
  }
}
`
	reported := func(s *session) {
		s.reports["test"] = map[string]any{"coverage": json.Number("84")}
		s.build()
	}
	tell(t, []story{
		{"nothing changed", covered, reported, `
			test: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			coverage (two): reuse: passed, and nothing changed since
			enough (two): reuse: passed, and nothing changed since`},
		{"the workstream that reports it runs again", covered, func(s *session) { reported(s); s.write("src", "2") }, `
			test: rerun: inputs changed: src
			b: reuse: nothing changed since it completed
			coverage (two): depends: whether its verdict holds depends on the result of test
			enough (two): depends: whether its verdict holds depends on the result of test`},
		{"the workstream reported another value", covered, func(s *session) {
			reported(s)
			s.reports["test"] = map[string]any{"coverage": json.Number("85")}
			s.run("test")
		}, `
			test: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			coverage (two): judge: what it judged changed
			enough (two): judge: its definition changed`},
		{"the workstream that reported it has left the pipeline", covered, func(s *session) {
			reported(s)
			s.edit(`workstream "test"`, `workstream "tests"`)
		}, `
			tests: run: not run yet
			b: reuse: nothing changed since it completed
			coverage (two): depends: whether its verdict holds depends on the result of tests
			enough (two): depends: whether its verdict holds depends on the result of tests`},
		{"the workstream that reports it can't complete", covered, func(s *session) {
			s.edit(`"test"`+"\n  }", "\"test\"\n effect = \"once\"\n }")
			reported(s)
			s.write("src", "2")
		}, `
			test: uncertain: it has happened already, on 2026-05-04 09:03 UTC in session S1, and must not run twice, but inputs changed: src
			b: reuse: nothing changed since it completed
			coverage (two): blocked: needs test
			enough (two): blocked: needs test`},
	})
}

// TestVerdict: a verdict is bound to the runs of the judged workstreams, except for
// skipped ones. The verdict lists files only if some are declared.
func TestVerdict(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "a" { script = "a" }
  workstream "b" {
    when   = false
    script = "b"
  }
  gate "check" { command = ["check"] }
}
`
	s := newSession(t, source)
	s.build()
	v := s.verdict("check (one)")
	if v.Seen != nil {
		t.Errorf("nothing is declared, but the verdict lists %+v", v.Seen)
	}
	alone := newSession(t, source)
	alone.edit("  workstream \"b\" {\n    when   = false\n    script = \"b\"\n  }\n", "")
	alone.build()
	if other := alone.verdict("check (one)"); other.Judged != v.Judged {
		t.Error("the verdict is bound to a workstream that is skipped")
	}
	s.run("a")
	if s.verdict("check (one)").Judged == v.Judged {
		t.Error("a workstream has run again, but the verdict is the same")
	}
}

// TestUnchangedWhileJudged: a verdict counts only if the files did not change while the
// gate judged them.
func TestUnchangedWhileJudged(t *testing.T) {
	t.Parallel()
	s := newSession(t, judged)
	passed(s)
	pl, g := s.planner(), s.p.Gate("check (one)")
	verdict := s.verdict("check (one)")
	if !pl.UnchangedWhileJudged(g, verdict, s.facts()) {
		t.Error("nothing changed, but the verdict does not count")
	}
	s.write("rules", "2")
	if pl.UnchangedWhileJudged(g, verdict, s.facts()) {
		t.Error("a file changed, but the verdict counts")
	}
	pl.BeginRun(s.st, pl.Plan(started.Add(time.Hour)), true)
	if now, _ := pl.Verdict(g); now.Judged != verdict.Judged {
		t.Error("the planner read the files again")
	}
}
