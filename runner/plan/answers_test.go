package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// answered is a pipeline in which a phase, a workstream, the when of a workstream and a gate
// use what a person gives with approvals.
const answered = `
variable "v" { default = "1" }
---
phase "one" {
  workstream "a" {
    script = "a ${var.v}"
    gate "look" {
      approval {
        message = "Fine?"
        input "x" {}
      }
    }
  }
  workstream "beside" {
    depends_on = [workstream.a]
    script     = "beside ${gate.look.inputs.x}"
  }
  gate "ask" {
    approval {
      message = "Which?"
      input "n" { type = number }
    }
  }
}
phase "two" {
  workstream "b" { script = "b ${gate.ask.inputs.n}" }
  workstream "c" {
    when   = gate.ask.inputs.n > 1
    script = "c"
  }
  workstream "d" { script = "d" }
  gate "same" {
    condition     = gate.ask.inputs.n > 0
    error_message = "no"
  }
}
`

func TestAnswers(t *testing.T) {
	t.Parallel()
	const ask = "ask (one)"
	give := func(s *session, n state.Text) {
		s.answers = map[string]map[string]state.Text{"look (a)": {"x": "y"}, ask: {"n": n}}
	}
	built := func(s *session) { give(s, "2"); s.build() }
	again := func(n state.Text) func(*session) {
		return func(s *session) {
			built(s)
			give(s, n)
			s.record(state.GateVoided{Gate: ask, Reason: "asked for"})
			s.judge(s.p.Phases[0].Gates)
		}
	}
	tell(t, []story{
		{"nothing has run", answered, func(*session) {}, `
			a: run: not run yet
			look (a): depends: on the result of a
			beside: run: not run yet
			ask (one): depends: on the result of a and beside
			b: run: not run yet
			c: depends: whether it runs depends on the result of ask (one)
			d: run: not run yet
			same (two): depends: on the result of b, c and d`},
		{"nothing changed", answered, built, `
			a: reuse: nothing changed since it completed
			look (a): reuse: passed, and nothing changed since
			beside: reuse: nothing changed since it completed
			ask (one): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed
			c: reuse: nothing changed since it completed
			d: reuse: nothing changed since it completed
			same (two): reuse: passed, and nothing changed since`},
		{"a gate asks again", answered, func(s *session) { built(s); s.edit("Which?", "Which one?") }, `
			a: reuse: nothing changed since it completed
			look (a): reuse: passed, and nothing changed since
			beside: reuse: nothing changed since it completed
			ask (one): judge: its definition changed
			b: depends: on the result of ask (one)
			c: depends: whether it runs depends on the result of ask (one)
			d: reuse: nothing changed since it completed
			same (two): depends: on the result of b and c`},
		{"what it judges runs again", answered, func(s *session) { built(s); s.set("v", "2") }, `
			a: rerun: variables changed: v; definition changed
			look (a): depends: what was approved was an earlier run of a; it asks again about the new one
			beside: depends: on the result of a and look (a)
			ask (one): depends: what was approved was an earlier run of a; it asks again about the new one
			b: depends: on the result of ask (one)
			c: depends: whether it runs depends on the result of ask (one)
			d: reuse: nothing changed since it completed
			same (two): depends: on the result of b and c`},
		{"another answer was given", answered, again("3"), `
			a: reuse: nothing changed since it completed
			look (a): reuse: passed, and nothing changed since
			beside: reuse: nothing changed since it completed
			ask (one): reuse: passed, and nothing changed since
			b: rerun: definition changed
			c: reuse: nothing changed since it completed
			d: reuse: nothing changed since it completed
			same (two): depends: on the result of b`},
		{"an answer that disables work", answered, again("1"), `
			a: reuse: nothing changed since it completed
			look (a): reuse: passed, and nothing changed since
			beside: reuse: nothing changed since it completed
			ask (one): reuse: passed, and nothing changed since
			b: rerun: definition changed
			c: skipped: its when is false
			d: reuse: nothing changed since it completed
			same (two): depends: on the result of b`},
		{"the gate cannot ask", answered, func(s *session) {
			built(s)
			s.edit("a ${var.v}", "a")
			s.record(state.WorkstreamUncertain{Workstream: "a", Error: state.Failure{Message: "unknown"}})
		}, `
			a: uncertain: nobody knows whether it happened: unknown
			look (a): blocked: needs a
			beside: blocked: needs a and look (a)
			ask (one): blocked: needs a and beside
			b: blocked: needs ask (one)
			c: blocked: needs ask (one)
			d: reuse: nothing changed since it completed
			same (two): blocked: needs b and c`},
		{"the gate is skipped", `
---
phase "one" {
  when = false
  workstream "a" { script = "a" }
  gate "ask" {
    approval {
      message = "Which?"
      input "x" {}
    }
  }
}
phase "two" {
  workstream "b" { script = "b ${try(gate.ask.inputs.x, "none")}" }
  workstream "c" { script = "c ${gate.ask.inputs.x}" }
}
`, func(*session) {}, `
			a: skipped: the when of its phase is false
			ask (one): skipped: what it judges is skipped
			b: run: not run yet
			c: run: it can't be evaluated: Missing input`},
	})
}
