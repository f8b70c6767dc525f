package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// press is a pipeline in which a makes two files, and b reads one of them.
const press = `
phase "one" {
  workstream "a" {
    inputs    = ["src"]
    artifacts = ["out", "log"]
    script    = "a"
    gate "lint" {
      inputs  = ["src"]
      command = ["lint"]
    }
  }
  workstream "b" {
    depends_on = [workstream.a]
    inputs     = ["out"]
    script     = "b"
  }
}
`

// pressed plays the first run of press.
func pressed(s *session) {
	s.makes["a"] = map[string]string{"out": "1", "log": "1"}
	s.write("src", "1")
	s.build()
}

// TestLayers plans a resume after a file was removed or edited that three workstreams have
// written one after the other.
func TestLayers(t *testing.T) {
	t.Parallel()
	const layered = `
phase "one" {
  workstream "a" {
    inputs    = ["a.in"]
    artifacts = ["out"]
    script    = "a"
  }
  workstream "b" {
    depends_on = [workstream.a]
    inputs     = ["b.in"]
    artifacts  = ["out"]
    script     = "b"
  }
  workstream "c" {
    depends_on = [workstream.b]
    inputs     = ["c.in"]
    artifacts  = ["out"]
    script     = "c"
  }
}
`
	// made plays the first run, after which the inputs of some workstreams are edited.
	made := func(s *session, changed ...string) {
		for _, name := range []string{"a", "b", "c"} {
			s.makes[name] = map[string]string{"out": name}
			s.write(name+".in", "1")
		}
		s.build()
		for _, name := range changed {
			s.write(name+".in", "2")
		}
	}
	tell(t, []story{
		{"missing, and nothing runs again", layered, func(s *session) { made(s); s.remove("out") }, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed
			c: reuse: out is missing, and is restored [restores [out]]`},
		{"missing, and the last one runs again", layered, func(s *session) { made(s, "c"); s.remove("out") }, `
			a: reuse: nothing changed since it completed
			b: reuse: out is missing, and is restored [restores [out]]
			c: rerun: inputs changed: c.in`},
		{"missing, and the second one runs again", layered, func(s *session) { made(s, "b"); s.remove("out") }, `
			a: reuse: out is missing, and is restored [restores [out]]
			b: rerun: inputs changed: b.in
			c: rerun: its artifact out is missing`},
		{"missing, and the first one runs again", layered, func(s *session) { made(s, "a"); s.remove("out") }, `
			a: rerun: inputs changed: a.in
			b: rerun: its artifact out is missing
			c: rerun: its artifact out is missing`},
		{"missing, and lost", layered, func(s *session) { made(s, "c"); s.remove("out"); s.lost["out"] = true }, `
			a: rerun: its artifact out is missing
			b: rerun: its artifact out is missing
			c: rerun: its artifact out is missing`},
		{"there, and the second one runs again", layered, func(s *session) { made(s, "b") }, `
			a: reuse: nothing changed since it completed
			b: rerun: inputs changed: b.in
			c: depends: on the result of b`},
		{"edited, and the user is asked", layered, func(s *session) { made(s, "b"); s.write("out", "2") }, `
			a: reuse: nothing changed since it completed
			b: rerun: inputs changed: b.in
			c: depends: on the result of b [refused: nobody has decided about the edit of out]`},
		{"edited, and restored", layered, func(s *session) { made(s, "b"); s.write("out", "2"); s.choice = plan.ConflictRestore }, `
			a: reuse: out was edited, and is restored [restores [out]]
			b: rerun: inputs changed: b.in
			c: rerun: its artifact out was edited, and is made again`},
	})
}

// TestConflicts plans a resume after artifacts of completed work were removed or edited.
func TestConflicts(t *testing.T) {
	t.Parallel()
	edited := func(choice plan.OnConflict) func(*session) {
		return func(s *session) { pressed(s); s.write("out", "2"); s.choice = choice }
	}
	// rerun plays an edit of an artifact whose workstream runs again.
	rerun := func(choice plan.OnConflict) func(*session) {
		return func(s *session) { edited(choice)(s); s.write("src", "2") }
	}
	// failing plays an edit after a gate has failed.
	failing := func(choice plan.OnConflict) func(*session) {
		return func(s *session) {
			edited(choice)(s)
			s.record(state.GateFailed{Verdict: state.Verdict{Gate: "lint (a)"}, Error: state.Failure{Message: "exit code 1"}})
		}
	}
	lose := func(path string, play func(*session)) func(*session) {
		return func(s *session) { s.lost[path] = true; play(s) }
	}
	tell(t, []story{
		{"missing, and kept", press, func(s *session) { pressed(s); s.remove("out") }, `
			a: reuse: out is missing, and is restored [restores [out]]
			lint (a): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed`},
		{"both missing, and kept", press, func(s *session) { pressed(s); s.remove("out"); s.remove("log") }, `
			a: reuse: log and out are missing, and are restored [restores [log out]]
			lint (a): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed`},
		{"missing, and lost", press, lose("out", func(s *session) { pressed(s); s.remove("out") }), `
			a: rerun: its artifact out is missing
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"both missing, and one of them lost", press, lose("out", func(s *session) { pressed(s); s.remove("out"); s.remove("log") }), `
			a: rerun: its artifact log is missing
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"edited, and the user is asked", press, edited(""), `
			a: reuse: proved done, but out was edited since [refused: nobody has decided about the edit of out]
			lint (a): reuse: passed, and nothing changed since
			b: rerun: inputs changed: out`},
		{"edited, and the user wants to be asked", press, edited(plan.ConflictAsk), `
			a: reuse: proved done, but out was edited since [refused: nobody has decided about the edit of out]
			lint (a): reuse: passed, and nothing changed since
			b: rerun: inputs changed: out`},
		{"edited, and the build fails", press, edited(plan.ConflictFail), `
			a: reuse: proved done, but out was edited since [refused: nobody has decided about the edit of out]
			lint (a): reuse: passed, and nothing changed since
			b: rerun: inputs changed: out`},
		{"edited, and kept", press, edited(plan.ConflictKeep), `
			a: judge: out was edited, and the edit is kept
			lint (a): reuse: passed, and nothing changed since
			b: depends: on the result of a`},
		{"edited, and restored", press, edited(plan.ConflictRestore), `
			a: reuse: out was edited, and is restored [restores [out]]
			lint (a): reuse: passed, and nothing changed since
			b: reuse: nothing changed since it completed`},
		{"edited, and can't be restored", press, lose("out", edited(plan.ConflictRestore)), `
			a: rerun: out was edited, and is made again
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"one edited and one missing, and the user is asked", press, func(s *session) { edited("")(s); s.remove("log") }, `
			a: reuse: proved done, but out was edited since [restores [log]] [refused: nobody has decided about the edit of out]
			lint (a): reuse: passed, and nothing changed since
			b: rerun: inputs changed: out`},
		{"one edited and one missing, and the edit is kept", press, func(s *session) { edited(plan.ConflictKeep)(s); s.remove("log") }, `
			a: judge: out was edited, and the edit is kept [restores [log]]
			lint (a): reuse: passed, and nothing changed since
			b: depends: on the result of a`},
		{"edited, and it runs again", press, rerun(""), `
			a: rerun: inputs changed: src [refused: nobody has decided about the edit of out]
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"edited, it runs again, and edits are kept", press, rerun(plan.ConflictKeep), `
			a: rerun: inputs changed: src [refused: the edit of out can't be kept where it is made anew]
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"edited, it runs again, and edits are restored", press, rerun(plan.ConflictRestore), `
			a: rerun: inputs changed: src
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"both edited, and it runs again", press, func(s *session) { rerun("")(s); s.write("log", "2") }, `
			a: rerun: inputs changed: src [refused: nobody has decided about the edit of log and out]
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"edited after a gate failed", press, failing(""), `
			a: judge: out was edited since lint (a) failed; the edit is kept, and judged
			lint (a): judge: it failed: exit code 1
			b: depends: on the result of a`},
		{"edited after a gate failed, and the user wants to be asked", press, failing(plan.ConflictAsk), `
			a: judge: proved done, but out was edited since; lint (a) comes next [refused: nobody has decided about the edit of out]
			lint (a): judge: it failed: exit code 1
			b: depends: on the result of a`},
		{"edited after a gate failed, and restored", press, failing(plan.ConflictRestore), `
			a: judge: out was edited, and is restored; lint (a) comes next [restores [out]]
			lint (a): judge: it failed: exit code 1
			b: reuse: nothing changed since it completed`},
		{"missing after a gate failed", press, func(s *session) {
			pressed(s)
			s.remove("out")
			s.record(state.GateFailed{Verdict: state.Verdict{Gate: "lint (a)"}})
		}, `
			a: judge: out is missing, and is restored; lint (a) comes next [restores [out]]
			lint (a): judge: it failed: its end was never recorded
			b: reuse: nothing changed since it completed`},
		{"missing, and its completion is not on record", press, func(s *session) {
			s.edit("\n    gate \"lint\" {\n      inputs  = [\"src\"]\n      command = [\"lint\"]\n    }", "")
			s.makes["a"] = map[string]string{"out": "1", "log": "1"}
			s.start()
			s.begin("a")
			s.write("out", "1")
			s.record(state.WorkstreamSucceeded{Workstream: "a", Work: s.work("a")})
			s.remove("out")
		}, `
			a: judge: the work is done, but its completion is not on record [restores [out]]
			b: run: not run yet`},
		{"edited, and it depends on the result of another one", press, func(s *session) {
			s.edit(`["out"]`+"\n    script ", "[\"out\"]\n artifacts = [\"copy\"]\n script ")
			s.makes["b"] = map[string]string{"copy": "1"}
			pressed(s)
			s.write("src", "2")
			s.write("copy", "2")
		}, `
			a: rerun: inputs changed: src
			lint (a): depends: on the result of a
			b: depends: on the result of a [refused: nobody has decided about the edit of copy]`},
		{"edited, and the run was to make it", press, func(s *session) {
			pressed(s)
			s.write("out", "2")
			s.record(state.WorkstreamInvalidated{Workstream: "a", Reason: "it was invalidated"})
		}, `
			a: rerun: it was invalidated
			lint (a): depends: on the result of a
			b: depends: on the result of a`},
		{"edited, and --only leaves it out", press, func(s *session) {
			s.edit("depends_on = [workstream.a]\n", "")
			edited("")(s)
			s.edit(`script    = "a"`, `script = "c"`)
			s.selection.Only = []string{"b"}
		}, `
			a: blocked: it was not chosen by --only [refused: nobody has decided about the edit of out]
			lint (a): blocked: needs a
			b: rerun: it was chosen by --only`},
	})
}

// TestConflictsMade: a file that several workstreams make in turn belongs to the last one.
func TestConflictsMade(t *testing.T) {
	t.Parallel()
	const inPlace = `
phase "one" {
  workstream "a" {
    inputs    = ["src"]
    artifacts = ["out"]
    script    = "make"
  }
}
phase "two" {
  workstream "b" {
    artifacts = ["out", "other"]
    script    = "strip"
  }
}
`
	changed := func(s *session) {
		s.makes["a"] = map[string]string{"out": "made"}
		s.makes["b"] = map[string]string{"out": "stripped", "other": "1"}
		s.write("src", "1")
		s.build()
	}
	tell(t, []story{
		{"nothing changed", inPlace, changed, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed`},
		{"the first one runs again", inPlace, func(s *session) { changed(s); s.write("src", "2") }, `
			a: rerun: inputs changed: src
			b: depends: on the result of a`},
		{"the first one is skipped", inPlace, func(s *session) { changed(s); s.edit(`"make"`, "\"make\"\n when = false") }, `
			a: skipped: its when is false
			b: reuse: nothing changed since it completed`},
		{"the first one has run again", inPlace, func(s *session) { changed(s); s.run("a") }, `
			a: reuse: nothing changed since it completed
			b: rerun: a has made out anew since`},
		{"the first one has run again, and made what the second one had made of it", inPlace, func(s *session) {
			changed(s)
			s.makes["a"]["out"] = "stripped"
			s.run("a")
		}, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed`},
		{"both are on record in one commit", inPlace, func(s *session) {
			changed(s)
			s.st.Workstream("b").WorkSeq = s.st.Workstream("a").WorkSeq
		}, `
			a: reuse: nothing changed since it completed
			b: reuse: nothing changed since it completed`},
		{"the first one has left the pipeline", inPlace, func(s *session) { changed(s); s.edit(`workstream "a"`, `workstream "c"`) }, `
			c: run: not run yet
			b: reuse: nothing changed since it completed`},
		{"they have changed places", inPlace, func(s *session) {
			changed(s)
			s.edit(`workstream "a"`, `workstream "x"`)
			s.edit(`workstream "b"`, `workstream "a"`)
			s.edit(`workstream "x"`, `workstream "b"`)
		}, `
			b: rerun: inputs changed: src; definition changed
			a: rerun: definition changed`},
	})
}

func TestEditedArtifacts(t *testing.T) {
	t.Parallel()
	got := plan.EditedArtifacts([]plan.Conflict{{Path: "missing"}, {Path: "edited", Found: "2"}})
	if len(got) != 1 || got[0].Path != "edited" {
		t.Errorf("got %+v", got)
	}
}
