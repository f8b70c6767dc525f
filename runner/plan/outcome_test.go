package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// TestRunOn: what a workstream depends on decides whether it runs.
func TestRunOn(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "a" {
    inputs = ["src"]
    script = "a"
  }
  workstream "onward" {
    depends_on = [workstream.a]
    script     = "onward"
  }
  workstream "undo" {
    depends_on = [workstream.a]
    run_on     = "failed"
    script     = "undo"
  }
  workstream "report" {
    depends_on = [workstream.a]
    run_on     = "always"
    script     = "report"
  }
}
`
	skipA := func(s *session) { s.edit(`script = "a"`, "script = \"a\"\n when = false") }
	passed := func(s *session) {
		s.start()
		s.run("a")
		s.run("onward")
		s.record(state.WorkstreamSkipped{Workstream: "undo", Reason: "nothing that it depends on has failed"})
		s.run("report")
		s.end()
	}
	failed := func(s *session) {
		s.start()
		s.fail("a", "exit code 1")
		s.run("undo")
		s.run("report")
		s.end()
	}
	allow := func(s *session) { s.edit(`script = "a"`, "script = \"a\"\n allow_failure = true") }
	allowed := func(s *session) {
		allow(s)
		s.start()
		s.failAllowed("a")
		for _, name := range []string{"onward", "undo", "report"} {
			s.run(name)
		}
		s.end()
	}
	tell(t, []story{
		{"nothing has run", source, func(*session) {}, `
			a: run: not run yet
			onward: run: not run yet
			undo: depends: whether it runs depends on the result of a
			report: run: not run yet`},
		{"it passed", source, passed, `
			a: reuse: nothing changed since it completed
			onward: reuse: nothing changed since it completed
			undo: skipped: nothing that it depends on has failed
			report: reuse: nothing changed since it completed`},
		{"it failed", source, failed, `
			a: run: attempt 1 failed: exit code 1
			onward: run: not run yet
			undo: depends: whether it runs depends on the result of a
			report: depends: on the result of a`},
		{"it passed after it had failed", source, func(s *session) { failed(s); s.start(); s.run("a"); s.end() }, `
			a: reuse: nothing changed since it completed
			onward: run: not run yet
			undo: skipped: nothing that it depends on has failed
			report: rerun: upstream changed: a`},
		{"it is skipped", source, skipA, `
			a: skipped: its when is false
			onward: skipped: workstream.a is skipped
			undo: skipped: nothing that it depends on has failed
			report: run: not run yet`},
		{"it failed, which is allowed", source, allowed, `
			a: reuse: it failed, which is allowed, and nothing changed since
			onward: reuse: nothing changed since it completed
			undo: reuse: nothing changed since it completed
			report: reuse: nothing changed since it completed`},
		{"it failed, which is allowed, and its input changed", source, func(s *session) { allowed(s); s.write("src", "2") }, `
			a: run: it failed, and inputs changed: src
			onward: depends: on the result of a
			undo: depends: whether it runs depends on the result of a
			report: depends: on the result of a`},
		{"it failed, which is allowed no more", source, func(s *session) { allowed(s); s.edit("allow_failure = true", "") }, `
			a: run: attempt 1 failed: exit code 1
			onward: depends: on the result of a
			undo: depends: whether it runs depends on the result of a
			report: depends: on the result of a`},
		{"it failed, and is allowed to now", source, func(s *session) { failed(s); allow(s) }, `
			a: run: attempt 1 failed: exit code 1
			onward: run: not run yet
			undo: depends: whether it runs depends on the result of a
			report: depends: on the result of a`},
		{"it failed, which is allowed, and is invalidated", source, func(s *session) { allowed(s); s.selection.Invalidate = []string{"a"} }, `
			a: rerun: it was invalidated
			onward: rerun: it depends on a, which was invalidated
			undo: rerun: it depends on a, which was invalidated, if it is enabled, which depends on the result of a
			report: rerun: it depends on a, which was invalidated`},
		{"it failed, which is allowed, and only it is chosen", source, func(s *session) { allowed(s); s.selection.Only = []string{"a"} }, `
			a: rerun: it was chosen by --only
			onward: blocked: it was not chosen by --only
			undo: blocked: it was not chosen by --only
			report: blocked: it was not chosen by --only`},
		{"it failed again, which is allowed", source, func(s *session) { allowed(s); s.start(); s.failAllowed("a"); s.end() }, `
			a: reuse: it failed, which is allowed, and nothing changed since
			onward: rerun: upstream changed: a
			undo: rerun: upstream changed: a
			report: rerun: upstream changed: a`},
	})
}

// TestSkippedBlock: what depends on a block with for_each is skipped only if all its instances
// are.
func TestSkippedBlock(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "each" {
    for_each = { a = true, b = false }
    when     = each.value
    script   = "each"
  }
  workstream "all" {
    depends_on = [workstream.each]
    script     = "all"
  }
  workstream "b" {
    depends_on = [workstream.each["b"]]
    script     = "b"
  }
}
`
	tell(t, []story{
		{"one instance is skipped", source, func(*session) {}, `
			each["a"]: run: not run yet
			each["b"]: skipped: its when is false
			all: run: not run yet
			b: skipped: workstream.each["b"] is skipped`},
		{"all are skipped", source, func(s *session) { s.edit("a = true", "a = false") }, `
			each["a"]: skipped: its when is false
			each["b"]: skipped: its when is false
			all: skipped: workstream.each is skipped
			b: skipped: workstream.each["b"] is skipped`},
	})
}

// TestRunOnOfPhases: a phase may run after a failure. It runs again when something before it
// has run again.
func TestRunOnOfPhases(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "a" { script = "a" }
}
phase "two" {
  workstream "b" { script = "b" }
}
phase "undoing" {
  run_on = "failed"
  workstream "undo" { script = "undo" }
}
phase "end" {
  run_on = "always"
  workstream "cleanup" { script = "cleanup" }
}
`
	passed := func(s *session) {
		s.start()
		s.run("a")
		s.run("b")
		s.record(state.PhaseSkipped{Phase: "undoing", Reason: plan.NothingFailed})
		s.run("cleanup")
		s.end()
	}
	failed := func(s *session) {
		s.start()
		s.run("a")
		s.fail("b", "exit code 1")
		s.run("undo")
		s.run("cleanup")
		s.end()
	}
	tell(t, []story{
		{"nothing has run", source, func(*session) {}, `
			a: run: not run yet
			b: run: not run yet
			undo: depends: whether it runs depends on the result of a
			cleanup: run: not run yet`},
		{"all passed", source, passed, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			undo: skipped: no phase before it has failed
			cleanup: reuse: nothing changed since it completed`},
		{"one failed", source, failed, `
			a: reuse: nothing changed since it completed
			b: run: attempt 1 failed: exit code 1
			undo: depends: whether it runs depends on the result of b
			cleanup: depends: on the result of b`},
		{"one failed, and passed then", source, func(s *session) { failed(s); s.start(); s.run("b"); s.end() }, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			undo: skipped: no phase before it has failed
			cleanup: rerun: upstream changed: the phases before`},
	})
}

// TestStatus: an expression sees what has become of a workstream.
func TestStatus(t *testing.T) {
	t.Parallel()
	s := newSession(t, `
phase "one" {
  workstream "done" { script = "a" }
  workstream "off" {
    when   = false
    script = "b"
  }
  workstream "bad" {
    script        = "c"
    allow_failure = true
  }
  workstream "red" { script = "d" }
  workstream "stuck" { script = "e" }
}
`)
	s.start()
	s.run("done")
	s.run("off")
	s.failAllowed("bad")
	s.fail("red", "exit code 1")
	pl := s.planner()
	if _, known := pl.Results(true, 0).Workstream("red"); known {
		t.Error("a failure of an earlier run has a result")
	}
	pl.SetEnded("red", pipeline.StatusFailed)
	pl.SetEnded("stuck", pipeline.StatusBlocked)
	for name, want := range map[string]pipeline.Status{
		"done": pipeline.StatusCompleted, "off": pipeline.StatusSkipped, "bad": pipeline.StatusFailed, "red": pipeline.StatusFailed, "stuck": pipeline.StatusBlocked,
	} {
		if got, known := pl.Results(true, 0).Workstream(name); !known || got.Status != want {
			t.Errorf("the status of %s is %q, want %q", name, got.Status, want)
		}
	}
}
