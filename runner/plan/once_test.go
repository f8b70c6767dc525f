package plan_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// mail is a pipeline with a once step between two steps that may run again.
const mail = `
phase "one" {
  workstream "text" {
    inputs = ["text"]
    script = "write"
  }
  workstream "mail" {
    depends_on = [workstream.text]
    inputs     = ["list"]
    effect     = "once"
    script     = "send"
  }
  workstream "log" {
    depends_on = [workstream.mail]
    script     = "log"
  }
}
`

// killed plays a run that was killed while mail ran.
func killed(s *session) {
	s.start()
	s.run("text")
	s.begin("mail")
}

func TestOnce(t *testing.T) {
	t.Parallel()
	resolved := func(r state.Resolution) func(*session) {
		return func(s *session) {
			killed(s)
			digest := s.planner().DigestOrRecorded(s.p.Workstream("mail"))
			s.record(
				state.WorkstreamUncertain{Workstream: "mail", Error: state.Failure{Message: "it was killed"}},
				state.WorkstreamResolved{Workstream: "mail", Resolution: r, Digest: digest, Reason: "the user said so"},
			)
		}
	}
	tell(t, []story{
		{"it has not happened", mail, func(*session) {}, `
			text: run: not run yet
			mail: run: not run yet
			log: run: not run yet`},
		{"it has happened", mail, func(s *session) { s.build() }, `
			text: reuse: nothing changed since it completed
			mail: reuse: nothing changed since it completed
			log: reuse: nothing changed since it completed`},
		{"it has happened, and its inputs changed", mail, func(s *session) { s.build(); s.write("list", "2") }, `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-04 09:06 UTC in session S1, and must not run twice, but inputs changed: list
			log: blocked: needs mail`},
		{"it has happened, and the step before it runs again", mail, func(s *session) { s.build(); s.write("text", "2") }, `
			text: rerun: inputs changed: text
			mail: depends: on the result of text; it has happened already, on 2026-05-04 09:06 UTC in session S1, and must not run twice
			log: depends: on the result of mail`},
		{"it has happened, and was invalidated", mail, func(s *session) { s.build(); s.selection.Invalidate = []string{"mail"} }, `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-04 09:06 UTC in session S1, and must not run twice, but it was invalidated
			log: blocked: needs mail`},
		{"it was killed", mail, killed, `
			text: reuse: nothing changed since it completed
			mail: uncertain: attempt 1 was started, and its end was never recorded
			log: blocked: needs mail`},
		{"it was killed, and the step before it runs again", mail, func(s *session) { killed(s); s.write("text", "2") }, `
			text: rerun: inputs changed: text
			mail: uncertain: attempt 1 was started, and its end was never recorded
			log: blocked: needs mail`},
		{"the question was asked", mail, func(s *session) {
			killed(s)
			s.record(state.WorkstreamUncertain{Workstream: "mail", Error: state.Failure{Message: "it was killed"}})
		}, `
			text: reuse: nothing changed since it completed
			mail: uncertain: nobody knows whether it happened: it was killed
			log: blocked: needs mail`},
		{"the question was asked without a reason", mail, func(s *session) {
			killed(s)
			s.record(state.WorkstreamUncertain{Workstream: "mail"})
		}, `
			text: reuse: nothing changed since it completed
			mail: uncertain: nobody knows whether it happened: its end was never recorded
			log: blocked: needs mail`},
		{"the question was whether it counts", mail, func(s *session) {
			s.build()
			s.record(state.WorkstreamUncertain{Workstream: "mail", Error: state.Failure{Outcome: state.OutcomeHappened, Message: "it has happened"}})
		}, `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened
			log: blocked: needs mail`},
		{"the user said that it happened", mail, resolved(state.ResolvedDone), `
			text: reuse: nothing changed since it completed
			mail: judge: adopted by hand, but its completion is not on record
			log: run: not run yet`},
		{"the user said that it did not happen", mail, resolved(state.ResolvedRerun), `
			text: reuse: nothing changed since it completed
			mail: rerun: the user said so
			log: run: not run yet`},
		{"its verify command said that it happened", mail, func(s *session) {
			killed(s)
			digest := s.planner().DigestOrRecorded(s.p.Workstream("mail"))
			s.record(
				state.WorkstreamResolved{Workstream: "mail", Resolution: state.ResolvedDone, Verified: true, Digest: digest},
				state.WorkstreamCompleted{Workstream: "mail"},
			)
		}, `
			text: reuse: nothing changed since it completed
			mail: reuse: adopted, since its verify command says that it happened, and nothing changed since
			log: run: not run yet`},
		{"it was repeated without having happened", mail, func(s *session) { s.selection.Repeat = []string{"mail"} }, `
			text: run: not run yet
			mail: run: not run yet
			log: run: not run yet`},
		{"it is repeated", mail, func(s *session) { s.build(); s.selection.Repeat = []string{"mail"} }, `
			text: reuse: nothing changed since it completed
			mail: rerun: it was chosen by --repeat [repeats]
			log: depends: on the result of mail`},
		{"it is repeated after a kill", mail, func(s *session) { killed(s); s.selection.Repeat = []string{"mail"} }, `
			text: reuse: nothing changed since it completed
			mail: rerun: it was chosen by --repeat [repeats]
			log: run: not run yet`},
		{"it is repeated, but --only leaves it out", mail, func(s *session) {
			s.build()
			s.selection = plan.Selection{Repeat: []string{"mail"}, Only: []string{"text"}}
		}, `
			text: rerun: it was chosen by --only
			mail: blocked: it was not chosen by --only
			log: blocked: it was not chosen by --only`},
		{"it is left out by --only after a kill", mail, func(s *session) { killed(s); s.selection.Only = []string{"text"} }, `
			text: rerun: it was chosen by --only
			mail: uncertain: attempt 1 was started, and its end was never recorded
			log: blocked: it was not chosen by --only`},
		{"an earlier build is on record as skipped", mail, func(s *session) {
			s.start()
			s.run("text")
			s.record(state.WorkstreamSkipped{Workstream: "mail", Reason: "its when is false"})
		}, `
			text: reuse: nothing changed since it completed
			mail: run: was skipped, and is enabled now
			log: run: not run yet`},
	})
}

// TestOnceInEarlierSession: a new session knows which once steps happened in earlier
// sessions.
func TestOnceInEarlierSession(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	// earlier returns a play in which mail happened in an earlier session, with the
	// digest that mail has now. change changes the record of that.
	earlier := func(change func(*state.Act)) func(*session) {
		return func(s *session) {
			s.write("list", "1")
			digest := s.planner().DigestOrRecorded(s.p.Workstream("mail"))
			act := state.Act{Workstream: "mail", Session: "S0", At: at, Digest: *digest}
			change(&act)
			s.start()
			s.run("text")
			act.Digest.Upstream = s.planner().DigestOrRecorded(s.p.Workstream("mail")).Upstream
			s.adjust = func(f *plan.Facts) { f.Acts = append(f.Acts, act) }
		}
	}
	none := func(*state.Act) {}
	tell(t, []story{
		{"from the same inputs", mail, earlier(none), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-01 12:00 UTC in session S0, with the same definition, from the same inputs
			log: blocked: needs mail`},
		{"on another machine", mail, earlier(func(a *state.Act) { a.Host = "build7" }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-01 12:00 UTC in session S0 (build7), with the same definition, from the same inputs
			log: blocked: needs mail`},
		{"perhaps", mail, earlier(func(a *state.Act) { a.Uncertain = true }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it may have happened already, on 2026-05-01 12:00 UTC in session S0, with the same definition, from the same inputs
			log: blocked: needs mail`},
		{"as a user said", mail, earlier(func(a *state.Act) { a.Adopted = state.AdoptedByHand }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it counts as having happened already, since 2026-05-01 12:00 UTC in session S0, with the same definition, from the same inputs
			log: blocked: needs mail`},
		{"from other inputs", mail, earlier(func(a *state.Act) { a.Digest.Inputs = "another" }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-01 12:00 UTC in session S0; inputs changed since
			log: blocked: needs mail`},
		{"with another definition", mail, earlier(func(a *state.Act) { a.Digest.Definition = "another" }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-01 12:00 UTC in session S0; definition changed since
			log: blocked: needs mail`},
		{"in a session that can't be read", mail, earlier(func(a *state.Act) { a.Unread = ".runner/PRD-001" }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: nobody knows whether it happened in the session under .runner/PRD-001, which can't be read
			log: blocked: needs mail`},
		{"under a name that is no longer declared", mail, earlier(func(a *state.Act) { a.Workstream = "post" }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: post, which is no longer declared, has happened already, on 2026-05-01 12:00 UTC in session S0; is mail the same?
			log: blocked: needs mail`},
		{"under such a name, with another definition", mail, earlier(func(a *state.Act) { a.Workstream, a.Digest.Definition = "post", "another" }), `
			text: reuse: nothing changed since it completed
			mail: run: not run yet
			log: run: not run yet`},
		{"under such a name, with an unknown definition", mail, earlier(func(a *state.Act) { a.Workstream, a.Digest.Definition = "post", "" }), `
			text: reuse: nothing changed since it completed
			mail: run: not run yet
			log: run: not run yet`},
		{"under the name of another step", mail, earlier(func(a *state.Act) { a.Workstream = "log" }), `
			text: reuse: nothing changed since it completed
			mail: run: not run yet
			log: run: not run yet`},
		{"under such a name, and repeated", mail, func(s *session) {
			earlier(func(a *state.Act) { a.Workstream = "post" })(s)
			s.selection.Repeat = []string{"mail"}
		}, `
			text: reuse: nothing changed since it completed
			mail: rerun: it was chosen by --repeat [repeats]
			log: run: not run yet`},
		{"and is repeated now", mail, func(s *session) { earlier(none)(s); s.selection.Repeat = []string{"mail"} }, `
			text: reuse: nothing changed since it completed
			mail: rerun: it was chosen by --repeat [repeats]
			log: run: not run yet`},
		{"and the step before it runs first", mail, func(s *session) { earlier(none)(s); s.write("text", "2") }, `
			text: rerun: inputs changed: text
			mail: uncertain: it has happened already, on 2026-05-01 12:00 UTC in session S0, with the same definition
			log: blocked: needs mail`},
		{"with another definition, and the step before it runs first", mail, func(s *session) {
			earlier(func(a *state.Act) { a.Digest.Definition = "another" })(s)
			s.write("text", "2")
		}, `
			text: rerun: inputs changed: text
			mail: uncertain: it has happened already, on 2026-05-01 12:00 UTC in session S0; definition changed since
			log: blocked: needs mail`},
	})
}

// TestOnceRenamed: a step that must happen only once may have happened under another name
// that the pipeline no longer has.
func TestOnceRenamed(t *testing.T) {
	t.Parallel()
	rename := func(s *session) { s.edit("mail", "post") }
	tell(t, []story{
		{"it had completed", mail, func(s *session) { s.build(); rename(s) }, `
			text: reuse: nothing changed since it completed
			post: uncertain: mail, which is no longer declared, completed; is post the same?
			log: blocked: needs post`},
		{"it had completed, and the step before it runs first", mail, func(s *session) { s.build(); rename(s); s.write("text", "2") }, `
			text: rerun: inputs changed: text
			post: uncertain: mail, which is no longer declared, completed; is post the same?
			log: blocked: needs post`},
		{"it had completed, and is left out by --only", mail, func(s *session) { s.build(); rename(s); s.selection.Only = []string{"log"} }, `
			text: reuse: nothing changed since it completed
			post: uncertain: mail, which is no longer declared, completed; is post the same?
			log: blocked: needs post`},
		{"it had completed, and the step before it waits", mail, func(s *session) {
			s.start()
			s.run("text")
			s.run("mail")
			rename(s)
			s.record(state.WorkstreamUncertain{Workstream: "text"})
		}, `
			text: uncertain: nobody knows whether it happened: its end was never recorded
			post: blocked: needs text
			log: blocked: needs post`},
		{"it had been killed", mail, func(s *session) { killed(s); rename(s) }, `
			text: reuse: nothing changed since it completed
			post: uncertain: mail, which is no longer declared, may have happened; is post the same?
			log: blocked: needs post`},
		{"the question was open", mail, func(s *session) {
			killed(s)
			s.record(state.WorkstreamUncertain{Workstream: "mail"})
			rename(s)
		}, `
			text: reuse: nothing changed since it completed
			post: uncertain: mail, which is no longer declared, may have happened; is post the same?
			log: blocked: needs post`},
		{"its definition changed", mail, func(s *session) { s.build(); rename(s); s.edit(`"send"`, `"post"`) }, `
			text: reuse: nothing changed since it completed
			post: run: not run yet
			log: depends: on the result of post`},
		{"it was no once step", mail, func(s *session) {
			s.edit(`effect     = "once"`, ``)
			s.build()
			s.edit(`["list"]`, "[\"list\"]\n effect = \"once\"")
			rename(s)
		}, `
			text: reuse: nothing changed since it completed
			post: run: not run yet
			log: depends: on the result of post`},
		{"the new one is no once step", mail, func(s *session) { s.build(); rename(s); s.edit(`effect     = "once"`, ``) }, `
			text: reuse: nothing changed since it completed
			post: run: not run yet
			log: depends: on the result of post`},
		{"the new one has run", mail, func(s *session) { s.build(); rename(s); s.start(); s.fail("post", "exit code 1") }, `
			text: reuse: nothing changed since it completed
			post: run: attempt 1 failed: exit code 1
			log: depends: on the result of post`},
		{"the new one waits for the answer", mail, func(s *session) {
			s.build()
			rename(s)
			s.start()
			s.record(state.WorkstreamUncertain{Workstream: "post", SameAs: "mail", Error: state.Failure{Message: "is it mail?"}})
		}, `
			text: reuse: nothing changed since it completed
			post: uncertain: nobody knows whether it happened: is it mail?
			log: blocked: needs post`},
		{"the user said that the new one is another", mail, func(s *session) {
			s.build()
			rename(s)
			s.start()
			s.record(
				state.WorkstreamUncertain{Workstream: "post", SameAs: "mail"},
				state.WorkstreamResolved{Workstream: "post", Resolution: state.ResolvedRerun, Reason: "it is another one"},
			)
		}, `
			text: reuse: nothing changed since it completed
			post: rerun: it is another one
			log: depends: on the result of post`},
	})
}

// TestOnceVerified: the verify command of a once step is asked before the user.
func TestOnceVerified(t *testing.T) {
	t.Parallel()
	verified := func(play func(*session)) func(*session) {
		return func(s *session) { s.edit(`"send"`, "\"send\"\n verify = [\"sent\"]"); play(s) }
	}
	tell(t, []story{
		{"after a kill", mail, verified(killed), `
			text: reuse: nothing changed since it completed
			mail: uncertain: attempt 1 was started, and its end was never recorded; its verify command is asked first [verify]
			log: depends: on mail, whose verify command is asked first`},
		{"after its inputs changed", mail, verified(func(s *session) { s.build(); s.write("list", "2") }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-04 09:06 UTC in session S1, and must not run twice, but inputs changed: list; its verify command is asked first [verify]
			log: depends: on mail, whose verify command is asked first`},
		{"but --only leaves it out", mail, verified(func(s *session) { killed(s); s.selection.Only = []string{"text"} }), `
			text: rerun: it was chosen by --only
			mail: uncertain: attempt 1 was started, and its end was never recorded
			log: blocked: it was not chosen by --only`},
		{"and the step after it is invalidated", mail, verified(func(s *session) {
			s.build()
			s.write("list", "2")
			s.selection.Invalidate = []string{"log"}
		}), `
			text: reuse: nothing changed since it completed
			mail: uncertain: it has happened already, on 2026-05-04 09:06 UTC in session S1, and must not run twice, but inputs changed: list; its verify command is asked first [verify]
			log: rerun: it was invalidated, after mail, whose verify command is asked first`},
		{"but a step before it is uncertain", mail, verified(func(s *session) {
			s.edit(`["text"]`, "[\"text\"]\n effect = \"once\"")
			killed(s)
			s.record(state.WorkstreamUncertain{Workstream: "mail"})
			s.begin("text")
		}), `
			text: uncertain: attempt 2 was started, and its end was never recorded
			mail: uncertain: nobody knows whether it happened: its end was never recorded
			log: blocked: needs mail`},
		{"and the step after it has not run", mail, verified(func(s *session) { killed(s); s.selection.Invalidate = []string{"log"} }), `
			text: reuse: nothing changed since it completed
			mail: uncertain: attempt 1 was started, and its end was never recorded; its verify command is asked first [verify]
			log: depends: on mail, whose verify command is asked first`},
	})
}
