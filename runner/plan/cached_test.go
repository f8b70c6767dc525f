package plan_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestCached: a workstream with a cache takes the result of an earlier run with the same
// digest, from this or another session.
func TestCached(t *testing.T) {
	t.Parallel()
	const source = `
phase "zero" {
  workstream "list" {
    inputs = ["list"]
    script = "list"
  }
}
phase "one" {
  workstream "parser" {
    depends_on = [workstream.list]
    inputs     = ["grammar"]
    artifacts  = ["parser"]
    effect     = "pure"
    cache      = true
    script     = "generate"
  }
  workstream "app" {
    depends_on = [workstream.parser]
    script     = "build"
  }
}
`
	begun := func(s *session) { s.write("grammar", "1"); s.start(); s.run("list") }
	done := func(s *session) {
		s.makes["parser"] = map[string]string{"parser": "1"}
		s.write("grammar", "1")
		s.build()
	}
	// earlier plays a session, and adds the result of an earlier run of parser from the
	// files as they are then.
	earlier := func(play func(*session), changes ...func(*state.Result)) func(*session) {
		return func(s *session) {
			play(s)
			digest := s.planner().DigestOrRecorded(s.p.Workstream("parser"))
			result := state.Result{Session: "S0", At: started.Add(-time.Hour), Work: state.Work{Attempt: 3, Digest: *digest}}
			for _, change := range changes {
				change(&result)
			}
			s.adjust = func(f *plan.Facts) {
				f.EarlierRuns = func() map[string][]state.Result {
					return map[string][]state.Result{"parser": {{Session: "S-1"}, result}}
				}
			}
		}
	}
	tell(t, []story{
		{"there is no earlier run", source, begun, `
			list: reuse: nothing changed since it completed
			parser: run: not run yet
			app: run: not run yet`},
		{"an earlier run had the same digest", source, earlier(begun), `
			list: reuse: nothing changed since it completed
			parser: cached: not run yet [attempt 3 of S0]
			app: run: not run yet`},
		{"an earlier run took its result from another one", source, earlier(begun, func(r *state.Result) {
			r.Work.Cached = &state.Cached{Session: "S-2", Attempt: 1}
		}), `
			list: reuse: nothing changed since it completed
			parser: cached: not run yet [attempt 1 of S-2]
			app: run: not run yet`},
		{"an earlier run had another digest", source, func(s *session) { earlier(begun)(s); s.write("grammar", "2") }, `
			list: reuse: nothing changed since it completed
			parser: run: not run yet
			app: run: not run yet`},
		{"it is done", source, earlier(done), `
			list: reuse: nothing changed since it completed
			parser: reuse: nothing changed since it completed
			app: reuse: nothing changed since it completed`},
		{"its inputs are those of an earlier run", source, func(s *session) {
			done(s)
			s.write("grammar", "2")
			earlier(func(*session) {})(s)
		}, `
			list: reuse: nothing changed since it completed
			parser: cached: inputs changed: grammar [attempt 3 of S0]
			app: depends: on the result of parser`},
		{"its inputs are those of an earlier run, and its artifact was edited", source, func(s *session) {
			done(s)
			s.write("grammar", "2")
			s.write("parser", "edited")
			earlier(func(*session) {})(s)
		}, `
			list: reuse: nothing changed since it completed
			parser: cached: inputs changed: grammar [refused: nobody has decided about the edit of parser] [attempt 3 of S0]
			app: depends: on the result of parser`},
		{"it is invalidated", source, func(s *session) { earlier(done)(s); s.selection.Invalidate = []string{"parser"} }, `
			list: reuse: nothing changed since it completed
			parser: rerun: it was invalidated
			app: rerun: it depends on parser, which was invalidated`},
		{"it failed with this digest", source, earlier(func(s *session) { begun(s); s.fail("parser", "exit code 1") }), `
			list: reuse: nothing changed since it completed
			parser: run: attempt 1 failed: exit code 1
			app: run: not run yet`},
		{"it failed with another digest", source, func(s *session) {
			begun(s)
			s.fail("parser", "exit code 1")
			s.write("grammar", "2")
			earlier(func(*session) {})(s)
		}, `
			list: reuse: nothing changed since it completed
			parser: cached: attempt 1 failed: exit code 1; since it began, inputs changed: grammar [attempt 3 of S0]
			app: run: not run yet`},
		{"one before it runs first", source, func(s *session) { earlier(begun)(s); s.write("list", "2") }, `
			list: rerun: inputs changed: list
			parser: depends: on the result of list
			app: run: not run yet`},
		{"one before it runs first, and there is no earlier run", source, func(s *session) { begun(s); s.write("list", "2") }, `
			list: rerun: inputs changed: list
			parser: run: not run yet
			app: run: not run yet`},
		{"it has no cache any more", source, func(s *session) { earlier(begun)(s); s.edit("cache      = true", "") }, `
			list: reuse: nothing changed since it completed
			parser: run: not run yet
			app: run: not run yet`},
		{"it can't be evaluated", source, func(s *session) {
			earlier(begun)(s)
			s.edit(`"generate"`, `workstream.list.outputs.none`)
		}, `
			list: reuse: nothing changed since it completed
			parser: run: it can't be evaluated: Missing output
			app: run: not run yet`},
		{"--only leaves it out", source, func(s *session) { earlier(begun)(s); s.selection.Only = []string{"list"} }, `
			list: rerun: it was chosen by --only
			parser: blocked: it was not chosen by --only
			app: blocked: it was not chosen by --only`},
	})
}

// TestCachedResult: a cached step carries the result that the run takes.
func TestCachedResult(t *testing.T) {
	t.Parallel()
	s := newSession(t, "phase \"one\" {\n workstream \"a\" {\n script = \"a\"\n effect = \"pure\"\n cache = true\n }\n}\n")
	digest := s.planner().DigestOrRecorded(s.p.Workstream("a"))
	s.adjust = func(f *plan.Facts) {
		f.EarlierRuns = func() map[string][]state.Result {
			return map[string][]state.Result{"a": {{Session: "S0", Work: state.Work{Digest: *digest, Summary: "done"}}}}
		}
	}
	step := s.plan().Phases[0].Steps[0]
	if step.Decision != plan.Cached || step.Result == nil || step.Result.Work.Summary != "done" {
		t.Errorf("%s, with the result %+v", showStep(step), step.Result)
	}
}
