package plan_test

import (
	"fmt"
	"testing"

	"prdrunner/checkpoint/state"
)

// chain has three workstreams in two phases, each of which depends on the one before.
const chain = `
variable "v" { default = "1" }
---
phase "one" {
  workstream "a" {
    inputs    = ["src/*"]
    artifacts = ["out"]
    script    = "make ${var.v}"
  }
  workstream "b" {
    depends_on = [workstream.a]
    script     = "b"
  }
}
phase "two" {
  workstream "c" {
    depends_on = [workstream.b]
    script     = "c"
  }
}
`

// built plays the first run of chain.
func built(s *session) {
	s.makes["a"] = map[string]string{"out": "1"}
	s.write("src/x", "1")
	s.write("src/y", "1")
	s.build()
}

func TestRerun(t *testing.T) {
	t.Parallel()
	const rest = "b: depends: on the result of a\nc: depends: on the result of b"
	tell(t, []story{
		{"nothing has run", chain, func(*session) {}, `
			a: run: not run yet
			b: run: not run yet
			c: run: not run yet`},
		{"nothing has changed", chain, built, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			c: reuse: nothing changed since it completed`},
		{"an input was modified", chain, func(s *session) { built(s); s.write("src/x", "2") },
			"a: rerun: inputs changed: src/x\n" + rest},
		{"an input was added", chain, func(s *session) { built(s); s.write("src/z", "1") },
			"a: rerun: inputs changed: src/z\n" + rest},
		{"an input was deleted", chain, func(s *session) { built(s); s.remove("src/x") },
			"a: rerun: inputs changed: src/x\n" + rest},
		{"several inputs changed", chain, func(s *session) { built(s); s.remove("src/x"); s.remove("src/y") },
			"a: rerun: inputs changed: src/x and 1 more\n" + rest},
		{"a file changed that is no input", chain, func(s *session) { built(s); s.write("README", "1") }, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			c: reuse: nothing changed since it completed`},
		{"a variable changed", chain, func(s *session) { built(s); s.set("v", "2") },
			"a: rerun: variables changed: v; definition changed\n" + rest},
		{"the definition of the last one changed", chain, func(s *session) { built(s); s.edit(`= "c"`, `= "d"`) }, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			c: rerun: definition changed`},
		{"definitions changed, and one depends on what runs first", chain, func(s *session) { built(s); s.write("src/x", "2"); s.edit(`= "b"`, `= "d"`) }, `
			a: rerun: inputs changed: src/x
			b: rerun: definition changed
			c: depends: on the result of b`},
		{"one has run again since", chain, func(s *session) { built(s); s.run("a") }, `
			a: reuse: nothing changed since it completed
			b: rerun: upstream changed: a
			c: depends: on the result of b`},
		{"an attempt failed", chain, func(s *session) { s.start(); s.fail("a", "exit code 1") }, `
			a: run: attempt 1 failed: exit code 1
			b: run: not run yet
			c: run: not run yet`},
		{"Runner was killed", chain, func(s *session) { s.start(); s.begin("a") }, `
			a: run: attempt 1 was interrupted
			b: run: not run yet
			c: run: not run yet`},
		{"an attempt was interrupted", chain, func(s *session) {
			s.start()
			s.begin("a")
			s.record(state.WorkstreamInterrupted{Workstream: "a", Attempt: 1})
		}, `
			a: run: attempt 1 was interrupted
			b: run: not run yet
			c: run: not run yet`},
		{"nothing ran in an attempt", chain, func(s *session) {
			s.start()
			s.begin("a")
			s.record(state.WorkstreamInterrupted{Workstream: "a", Attempt: 1, Reason: "the result of an earlier run is not taken: out is in the way"})
		}, `
			a: run: nothing ran in attempt 1: the result of an earlier run is not taken: out is in the way
			b: run: not run yet
			c: run: not run yet`},
		{"an upstream workstream failed after it had completed", chain, func(s *session) { built(s); s.fail("a", "exit code 1") }, `
			a: run: attempt 2 failed: exit code 1
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"it failed before it was started", chain, func(s *session) {
			s.start()
			s.record(state.WorkstreamFailed{Workstream: "a", Error: state.Failure{Message: "missing output"}})
		}, `
			a: run: not run yet
			b: run: not run yet
			c: run: not run yet`},
		{"the record was taken back", chain, func(s *session) {
			built(s)
			s.record(state.WorkstreamInvalidated{Workstream: "c", Reason: "it was invalidated"})
		}, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			c: rerun: it was invalidated`},
		{"the work is done, and the run ended before it said so", chain, func(s *session) {
			s.start()
			s.begin("a")
			s.record(state.WorkstreamSucceeded{Workstream: "a", Work: s.work("a")})
		}, `
			a: judge: the work is done, but its completion is not on record
			b: run: not run yet
			c: run: not run yet`},
	})
}

// TestRerunManyInputs: a digest lists the inputs only if they are few. If there are more,
// the plan finds the changed inputs among the files that changed since the last run.
func TestRerunManyInputs(t *testing.T) {
	t.Parallel()
	many := func(s *session) {
		for i := range state.MaxInline + 1 {
			s.write(fmt.Sprintf("src/%02d", i), "1")
		}
		s.build()
	}
	tell(t, []story{
		{"unchanged", chain, many, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			c: reuse: nothing changed since it completed`},
		{"one changed since the run", chain, func(s *session) { many(s); s.write("src/07", "2") }, `
			a: rerun: inputs changed: src/07
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"few became many", chain, func(s *session) {
			built(s)
			for i := range state.MaxInline {
				s.write(fmt.Sprintf("src/%02d", i), "1")
			}
		}, `
			a: rerun: inputs changed: src/00 and 63 more
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"many became few", chain, func(s *session) {
			many(s)
			s.remove("src/00")
			s.remove("src/01")
		}, `
			a: rerun: inputs changed: src/00 and 1 more
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"there are none any more", chain, func(s *session) { built(s); s.edit(`    inputs    = ["src/*"]`, "") }, `
			a: rerun: inputs changed: src/x and 1 more; definition changed
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"many are none any more", chain, func(s *session) { many(s); s.edit(`    inputs    = ["src/*"]`, "") }, `
			a: rerun: inputs changed; definition changed
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"there were none before", chain, func(s *session) {
			s.edit(`    inputs    = ["src/*"]`, "")
			built(s)
			s.rewrite(chain)
		}, `
			a: rerun: inputs changed: src/x and 1 more; definition changed
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"there was no file before", chain, func(s *session) { s.build(); s.write("src/x", "1") }, `
			a: rerun: inputs changed: src/x
			b: depends: on the result of a
			c: depends: on the result of b`},
		{"one changed, but it is not known which", chain, func(s *session) { many(s); s.write("src/07", "2"); s.end() }, `
			a: rerun: inputs changed
			b: depends: on the result of a
			c: depends: on the result of b`},
	})
}

// TestRerunInstances: the plan names the upstream instances that changed, came or went.
func TestRerunInstances(t *testing.T) {
	t.Parallel()
	const source = `
variable "n" { default = 2 }
---
phase "one" {
  workstream "up" {
    for_each = toset([for i in range(var.n) : tostring(i)])
    script   = "up"
  }
  workstream "a" {
    depends_on = [workstream.up]
    script     = "a"
  }
}
`
	ran := func(n int) func(*session) {
		return func(s *session) { s.set("n", fmt.Sprint(n)); s.build() }
	}
	last := func(play func(*session), n int) func(*session) {
		return func(s *session) { play(s); s.set("n", fmt.Sprint(n)) }
	}
	for _, tt := range []struct {
		name string
		play func(*session)
		want string
	}{
		{"the same", ran(2), "nothing changed since it completed"},
		{"one is gone", last(ran(2), 1), `upstream changed: up["1"]`},
		{"all are gone", last(ran(2), 0), `upstream changed: up["0"] and 1 more`},
		{"many are gone", last(ran(state.MaxInline+1), 0), "upstream changed"},
		{"one of many is gone", last(ran(state.MaxInline+1), state.MaxInline), "upstream changed"},
		{"one came", last(ran(1), 2), `on the result of up["1"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, source)
			tt.play(s)
			if got := step(t, s.plan(), "a").Reason; string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRerunManyInputsOfOthers: of many inputs, the plan names neither those that another
// workstream has changed nor those that Runner restores.
func TestRerunManyInputsOfOthers(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "reader" {
    inputs    = ["src/*"]
    artifacts = ["src/own"]
    script    = "read"
  }
  workstream "writer" {
    artifacts = ["src/log", "src/index"]
    script    = "write"
  }
}
`
	many := func(s *session) {
		for i := range state.MaxInline + 1 {
			s.write(fmt.Sprintf("src/%02d", i), "1")
		}
		s.makes["reader"] = map[string]string{"src/own": "1"}
		s.makes["writer"] = map[string]string{"src/log": "1", "src/index": "1"}
		s.build()
	}
	tell(t, []story{
		{"others have written", source, many, `
			reader: reuse: nothing changed since it completed
			writer: reuse: nothing changed since it completed`},
		{"an edit, a restored file, and what others have written", source, func(s *session) {
			many(s)
			s.makes["writer"]["src/log"] = "2"
			s.run("writer")
			s.write("src/07", "2")
			s.remove("src/index")
			s.write("src/own", "2")
		}, `
			reader: rerun: inputs changed: src/07 [refused: nobody has decided about the edit of src/own]
			writer: reuse: src/index is missing, and is restored [restores [src/index]]`},
	})
}
