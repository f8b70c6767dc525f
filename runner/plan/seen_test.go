package plan_test

import (
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// crowd is a pipeline whose workstream reader reads a directory into which others write:
// first, before reader; writer, which may run at the same time; and later, in the next
// phase.
const crowd = `
phase "zero" {
  workstream "first" {
    artifacts = ["data/first"]
    script    = "first"
  }
}
phase "one" {
  workstream "reader" {
    inputs = ["data/*"]
    script = "read"
    gate "check" {
      inputs  = ["data/*"]
      command = ["check"]
    }
  }
  workstream "writer" {
    artifacts = ["data/log", "data/tmp"]
    script    = "write"
  }
}
phase "two" {
  workstream "later" {
    artifacts = ["data/log", "data/sum"]
    script    = "sum"
  }
}
`

// crowded plays a run of crowd in which reader runs before writer and later.
func crowded(s *session) {
	s.makes["first"] = map[string]string{"data/first": "1"}
	s.makes["writer"] = map[string]string{"data/log": "writer"}
	s.makes["later"] = map[string]string{"data/sum": "1"}
	s.write("data/own", "1")
	s.start()
	s.run("first")
	s.run("reader")
	s.run("writer")
	s.run("later")
	s.end()
}

// TestSeen: a workstream and a verdict stay valid when workstreams that may run later
// change the files that they saw. Any other change is an edit.
func TestSeen(t *testing.T) {
	t.Parallel()
	again := func(play func(*session), name string, files map[string]string) func(*session) {
		return func(s *session) {
			play(s)
			s.makes[name] = files
			s.run(name)
			s.end()
		}
	}
	edited := func(play func(*session), path, content string) func(*session) {
		return func(s *session) { play(s); s.write(path, content) }
	}
	// stopped plays an attempt of writer that is stopped after it has written to the log.
	stopped := func(end ...state.Event) func(*session) {
		return func(s *session) {
			crowded(s)
			s.begin("writer")
			s.write("data/log", "partial")
			s.record(end...)
			s.end()
		}
	}
	interrupted := []state.Event{state.WorkstreamInterrupted{Workstream: "writer", Attempt: 2}, state.SessionInterrupted{Signal: "SIGTERM"}}
	failed := []state.Event{state.WorkstreamFailed{Workstream: "writer"}, state.SessionFailed{}}
	tell(t, []story{
		{"others have written after it read", crowd, crowded, `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"another one writes something else", crowd, again(crowded, "writer", map[string]string{"data/log": "2"}), `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: reuse: nothing changed since it completed
			later: rerun: writer has made data/log anew since`},
		{"another one makes no file any more", crowd, func(s *session) {
			crowded(s)
			s.remove("data/log")
			s.makes["writer"] = nil
			s.run("writer")
			s.run("later")
			s.end()
		}, `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"another one writes over what one before it has written", crowd, again(crowded, "later", map[string]string{"data/log": "2"}), `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"one that had ended writes something else", crowd, again(crowded, "first", map[string]string{"data/first": "2"}), `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/first
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"a user edits what another one wrote", crowd, edited(crowded, "data/log", "edited"), `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/log
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
		{"a user edits its own input", crowd, edited(crowded, "data/own", "2"), `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/own
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"a user adds a file that another one may write", crowd, edited(crowded, "data/tmp", "1"), `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/tmp
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"a user keeps the edit of what another one wrote", crowd, func(s *session) {
			edited(crowded, "data/log", "edited")(s)
			files := []state.Artifact{artifact("data/log", "edited"), artifact("data/sum", "1")}
			s.record(state.WorkstreamEdited{Workstream: "later", Artifacts: files, Edited: []state.Text{"data/log"}})
			s.end()
		}, `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/log
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"a user restores by hand what it had read", crowd, func(s *session) {
			s.write("data/log", "before")
			crowded(s)
			s.write("data/log", "before")
		}, `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: reuse: nothing changed since it completed
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
		{"a user restores by hand what a gate had judged, and edits another file", crowd, func(s *session) {
			s.edit("inputs = [\"data/*\"]\n    script", "inputs = [\"none\"]\n script")
			s.write("data/log", "before")
			crowded(s)
			s.write("data/log", "before")
			s.write("data/own", "2")
		}, `
			first: reuse: nothing changed since it completed
			reader: judge: the work is kept; check (reader) is judged
			check (reader): judge: what it judged changed: data/own
			writer: reuse: nothing changed since it completed
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
		{"it read while another one was recording what it had written", crowd, func(s *session) {
			s.start()
			s.begin("writer")
			s.write("data/log", "1")
			s.record(state.WorkstreamSucceeded{Workstream: "writer", Work: s.work("writer")})
			s.write("data/log", "0")
			s.run("reader")
			s.write("data/log", "1")
			s.end()
		}, `
			first: run: not run yet
			reader: judge: the work is kept; check (reader) is judged
			check (reader): judge: what it judged changed
			writer: judge: the work is done, but its completion is not on record
			later: run: not run yet`},
		{"it read an edit of what another one had written, and a user undoes the edit", crowd, func(s *session) {
			s.makes["writer"] = map[string]string{"data/log": "1"}
			s.start()
			s.run("writer")
			s.write("data/log", "0")
			s.run("reader")
			s.write("data/log", "1")
			s.end()
		}, `
			first: run: not run yet
			reader: rerun: inputs changed: data/log
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: run: not run yet`},
		{"another one that failed had written", crowd, stopped(failed...), `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: run: attempt 2 failed: its end was never recorded
			later: reuse: nothing changed since it completed`},
		{"another one that was interrupted had written", crowd, stopped(interrupted...), `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: run: attempt 2 was interrupted
			later: reuse: nothing changed since it completed`},
		{"a user edits what one that was interrupted had written", crowd, edited(stopped(interrupted...), "data/log", "edited"), `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/log
			check (reader): depends: on the result of reader
			writer: run: attempt 2 was interrupted
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
		{"another one that was killed had written", crowd, edited(stopped(), "data/log", "partial"), `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: run: attempt 2 was interrupted
			later: reuse: nothing changed since it completed`},
		{"another one was failing while it read", crowd, func(s *session) {
			s.start()
			s.fail("writer", "exit code 1")
			s.run("reader")
			s.write("data/log", "partial")
			s.end()
		}, `
			first: run: not run yet
			reader: judge: the work is kept; check (reader) is judged
			check (reader): judge: what it judged changed
			writer: run: attempt 1 failed: exit code 1
			later: run: not run yet`},
		{"one was interrupted before it read", crowd, func(s *session) {
			stopped(interrupted...)(s)
			s.run("reader")
			s.write("data/log", "edited")
		}, `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/log
			check (reader): depends: on the result of reader
			writer: run: attempt 2 was interrupted
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
		{"a user deletes what one wrote that is skipped now", crowd, func(s *session) {
			s.makes["writer"] = map[string]string{"data/tmp": "1"}
			s.start()
			s.run("writer")
			s.run("reader")
			s.run("writer")
			s.record(state.WorkstreamSkipped{Workstream: "writer"})
			s.end()
			s.remove("data/tmp")
		}, `
			first: run: not run yet
			reader: rerun: inputs changed: data/tmp
			check (reader): depends: on the result of reader
			writer: run: was skipped, and is enabled now
			later: run: not run yet`},
	})
}

// TestSeenBefore12: records of versions before 1.2 do not list the files that others may
// write. Their digest covers only the other files.
func TestSeenBefore12(t *testing.T) {
	t.Parallel()
	old := func(play func(*session)) func(*session) {
		return func(s *session) {
			crowded(s)
			own := plan.DigestFiles([]state.Artifact{artifact("data/first", "1"), artifact("data/own", "1")})
			d := &s.st.Workstream("reader").Digest
			d.Inputs, d.Seen = own, nil
			play(s)
		}
	}
	tell(t, []story{
		{"others have written", crowd, old(func(*session) {}), `
			first: reuse: nothing changed since it completed
			reader: reuse: nothing changed since it completed
			check (reader): reuse: passed, and nothing changed since
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"a user edits what another one wrote", crowd, old(func(s *session) { s.write("data/log", "edited") }), `
			first: reuse: nothing changed since it completed
			reader: judge: the work is kept; check (reader) is judged
			check (reader): judge: what it judged changed: data/log
			writer: reuse: nothing changed since it completed
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
		{"a user edits its own input", crowd, old(func(s *session) { s.write("data/own", "2") }), `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/own
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: nothing changed since it completed`},
		{"another one that had ended may write the file, too", crowd, func(s *session) {
			s.edit(`["data/first"]`, `["data/first", "data/log"]`)
			old(func(s *session) { s.write("data/own", "2"); s.write("data/log", "edited") })(s)
		}, `
			first: reuse: nothing changed since it completed
			reader: rerun: inputs changed: data/log and 1 more
			check (reader): depends: on the result of reader
			writer: reuse: nothing changed since it completed
			later: reuse: proved done, but data/log was edited since [refused: nobody has decided about the edit of data/log]`},
	})
}
