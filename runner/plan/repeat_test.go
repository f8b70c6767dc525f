package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestEndOfIteration: nothing is left to do in an iteration, and its end is not on record. The
// plan decides as the run does.
func TestEndOfIteration(t *testing.T) {
	t.Parallel()
	const source = `
phase "loop" {
  repeat {
    until = workstream.test.outputs.ok == "yes"
    max   = 2
  }
  workstream "code" {
    script    = "code"
    artifacts = ["out"]
  }
  workstream "test" {
    depends_on = [workstream.code]
    inputs     = ["src"]
    script     = "test"
  }
  gate "good" {
    condition     = workstream.test.outputs.ok == "yes"
    error_message = "It is bad."
  }
}
phase "after" {
  workstream "ship" { script = "ship" }
}
phase "failed" {
  run_on = "failed"
  workstream "tell" { script = "tell" }
}
`
	ran := func(ok string) func(*session) {
		return func(s *session) {
			s.makes["code"] = map[string]string{"out": "made"}
			if ok != "" {
				s.gives["test"] = map[string]string{"ok": ok}
			}
			s.start()
			s.record(state.PhaseStarted{Phase: "loop"})
			s.run("code")
			s.run("test")
			s.end()
		}
	}
	first := ran("no")
	second := func(s *session) {
		first(s)
		s.record(state.PhaseRepeated{Phase: "loop", Iteration: 2, Reason: "until is false"})
		s.run("code")
		s.run("test")
		s.end()
	}
	const next = `
			code: rerun: iteration 2 of loop
			test: rerun: iteration 2 of loop
			good (loop): depends: on the result of code and test
			ship: run: not run yet
			tell: depends: whether it runs depends on the result of code`
	const present = `
			code: reuse: nothing changed since it completed
			test: reuse: nothing changed since it completed`
	const last = present + `
			good (loop): blocked: iteration 2 of at most 2 has ended, and until is false: workstream.test.outputs.ok == "yes"
			ship: blocked: needs loop
			tell: run: not run yet`
	const passes = present + `
			good (loop): run: not judged yet
			ship: run: not run yet
			tell: depends: whether it runs depends on the result of good (loop)`
	tell(t, []story{
		{"until is false", source, first, next},
		{"until is true", source, ran("yes"), passes},
		{"no iteration is left", source, second, last},
		{"more iterations are allowed", source, func(s *session) { second(s); s.edit("max   = 2", "max   = 3") }, `
			code: rerun: iteration 3 of loop
			test: rerun: iteration 3 of loop
			good (loop): depends: on the result of code and test
			ship: run: not run yet
			tell: depends: whether it runs depends on the result of code`},
		{"until can't be evaluated", source, ran(""), present + `
			good (loop): blocked: until can't be evaluated: Missing output
			ship: blocked: needs loop
			tell: run: not run yet`},
		{"something is left to do", source, func(s *session) { first(s); s.write("src", "2") }, `
			code: reuse: nothing changed since it completed
			test: rerun: inputs changed: src
			good (loop): depends: on the result of test
			ship: run: not run yet
			tell: depends: whether it runs depends on the result of test`},
		{"only some were chosen", source, func(s *session) { first(s); s.selection.Only = []string{"test"} }, `
			code: reuse: nothing changed since it completed
			test: rerun: it was chosen by --only
			good (loop): depends: on the result of test
			ship: blocked: it was not chosen by --only
			tell: blocked: it was not chosen by --only`},
		{"the phase is complete", source, func(s *session) {
			first(s)
			s.record(state.PhaseCompleted{Phase: "loop"})
		}, passes},
	})
}

// TestEndOfSameIteration: an iteration that changed nothing is the last one.
func TestEndOfSameIteration(t *testing.T) {
	t.Parallel()
	s := newSession(t, `
phase "loop" {
  repeat {
    until = false
    max   = 9
  }
  workstream "code" {
    script    = "code"
    artifacts = ["out"]
  }
}
`)
	s.makes["code"] = map[string]string{"out": "made"}
	s.start()
	s.record(state.PhaseStarted{Phase: "loop"})
	s.run("code")
	results := s.st.ComparableResults(s.st.Phase("loop"), true)
	s.record(state.PhaseRepeated{Phase: "loop", Iteration: 2, Reason: "until is false", Results: results})
	s.run("code")
	s.end()
	planned := s.plan()
	const want = "loop fails: iteration 2 changed nothing: its results, files and failures are those of iteration 1"
	if len(planned.Warnings) != 1 || planned.Warnings[0] != want || planned.Phases[0].Steps[0].Decision != plan.Reuse {
		t.Errorf("the plan is %+v, and warns %q", planned.Phases[0].Steps, planned.Warnings)
	}
}
