package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestIdle: a plan is idle if a run would find nothing to do. Otherwise the plan resumes
// from the first phase with something to do.
func TestIdle(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "a" {
    inputs    = ["src"]
    artifacts = ["out"]
    script    = "a"
  }
}
phase "two" {
  workstream "b" { script = "b" }
  workstream "c" {
    when   = false
    script = "c"
  }
  gate "check" {
    inputs  = ["src"]
    command = ["check"]
    pause   = true
  }
}
phase "three" {
  when = false
  workstream "d" { script = "d" }
  gate "last" { command = ["last"] }
}
`
	reviewed := func(s *session) { s.build(); s.record(state.GateReviewed{Gate: "check (two)"}) }
	for _, tt := range []struct {
		name string
		play func(*session)
		idle bool
		from int
	}{
		{"nothing has run", func(*session) {}, false, 1},
		{"everything is done", reviewed, true, 0},
		{"a review is due", func(s *session) { s.build() }, false, 2},
		{"an input changed", func(s *session) { reviewed(s); s.write("src", "2") }, false, 1},
		{"an artifact is restored", func(s *session) { reviewed(s); s.remove("out") }, false, 0},
		{"an artifact was edited", func(s *session) { reviewed(s); s.write("out", "2") }, false, 0},
		{"a gate is new", func(s *session) {
			reviewed(s)
			s.edit(`  gate "check"`, "gate \"new\" {\n inputs = [\"src\"]\n command = [\"new\"]\n }\n gate \"check\"")
		}, false, 2},
		{"a skipped workstream is new", func(s *session) {
			reviewed(s)
			s.edit(`workstream "c"`, "workstream \"e\" {\n when = false\n script = \"e\"\n }\n workstream \"c\"")
		}, false, 0},
		{"a skipped gate is new", func(s *session) {
			reviewed(s)
			s.edit(`gate "last"`, "gate \"new\" { command = [\"new\"] }\n gate \"last\"")
		}, false, 0},
		{"the document changed", func(s *session) {
			reviewed(s)
			s.st.Document = &state.FileRef{Path: "PRD-001.json", Digest: "1"}
			s.adjust = func(f *plan.Facts) { f.Document = &state.FileRef{Path: "PRD-001.json", Digest: "2"} }
		}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, source)
			s.makes["a"] = map[string]string{"out": "1"}
			tt.play(s)
			if p := s.plan(); p.Idle() != tt.idle || p.ResumeFrom != tt.from {
				t.Errorf("idle: %t, resumes from phase %d:\n%s", p.Idle(), p.ResumeFrom, show(p))
			}
		})
	}
}

// TestStale: a changed document or a deleted branch makes the session stale.
func TestStale(t *testing.T) {
	t.Parallel()
	document := func(path, digest string) *state.FileRef {
		return &state.FileRef{Path: state.Text(path), Digest: digest}
	}
	recorded := func(s *session) { s.start(); s.st.Document = document("d", "1") }
	found := func(d *state.FileRef) func(*plan.Facts) {
		return func(f *plan.Facts) { f.Document = d }
	}
	gone := func(f *plan.Facts) { f.BranchGone = true }
	onBranch := func(s *session) { s.start(); s.st.Git = &state.Git{Branch: "topic", Commit: "c0ffee"} }
	for _, tt := range []struct {
		name  string
		play  func(*session)
		facts func(*plan.Facts)
		want  string
	}{
		{"the document is unchanged", recorded, found(document("d", "1")), ""},
		{"the document changed", recorded, found(document("d", "2")), "document d: 1 → 2"},
		{"the document has another path", recorded, found(document("e", "1")), "document e: 1 → 1"},
		{"no document was found", recorded, found(nil), ""},
		{"the session recorded no document", func(s *session) { s.start() }, found(document("d", "1")), ""},
		{"there is no session yet", func(*session) {}, found(document("d", "1")), ""},
		{"the branch is gone", onBranch, gone, "git branch topic: c0ffee → "},
		{"the branch is there", onBranch, found(nil), ""},
		{"the branch of a complete session is gone", func(s *session) { onBranch(s); s.record(state.SessionCompleted{}) }, gone, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, chain)
			tt.play(s)
			s.adjust = tt.facts
			var lines []string
			for _, stale := range s.plan().Stale {
				lines = append(lines, fmt.Sprintf("%s %s: %s → %s", stale.What, stale.Path, stale.Old, stale.New))
			}
			if got := strings.Join(lines, "\n"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestWarnings: the warnings of a plan name expressions that can't be evaluated, captures
// that can't be read, and links that lead out of the workspace.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const source = `
phase "one" {
  workstream "a" { script = "a" }
}
phase "two" {
  when = workstream.a.outputs.on == "yes"
  workstream "b" {
    when    = workstream.a.outputs.on == "yes"
    command = [workstream.a.outputs.id]
    gate "lint" { command = [workstream.a.outputs.id] }
  }
  gate "check" { command = [workstream.a.outputs.id] }
}
`
	for _, tt := range []struct {
		name string
		play func(*session)
		want string
	}{
		{"nothing is wrong", func(*session) {}, ``},
		{"a phase", func(s *session) { s.edit(`  when = workstream.a.outputs.on`, `  when = workstream.a.outputs.off`) }, `Missing output: off`},
		{"a when", func(s *session) { s.edit(`    when    = workstream.a.outputs.on`, `when = workstream.a.outputs.off`) }, `Missing output: off`},
		{"a command", func(s *session) {
			s.edit(`    command = [workstream.a.outputs.id]`, `command = [workstream.a.outputs.none]`)
		}, `Missing output: none`},
		{"a gate of a workstream", func(s *session) {
			s.edit(`gate "lint" { command = [workstream.a.outputs.id] }`, `gate "lint" { command = [workstream.a.outputs.none] }`)
		}, `Missing output: none`},
		{"a gate of a phase", func(s *session) {
			s.edit(`gate "check" { command = [workstream.a.outputs.id] }`, `gate "check" { command = [workstream.a.outputs.none] }`)
		}, `Missing output: none`},
		{"a gate that uses what runs first", func(s *session) {
			s.edit(`gate "check" { command = [workstream.a.outputs.id] }`, `gate "check" { command = [workstream.a.outputs.none] }`)
			s.selection.Invalidate = []string{"a"}
		}, ``},
		{"links and a capture", func(s *session) {
			s.adjust = func(f *plan.Facts) {
				f.LinksOut, f.CaptureError = []string{"l (to /tmp)"}, errors.New("the capture is lost")
			}
		}, `
			l (to /tmp) is a link that leads out of the workspace: what is behind it counts as not there
			the capture is lost`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, source)
			s.gives["a"] = map[string]string{"on": "yes", "id": "1"}
			s.build()
			tt.play(s)
			var lines []string
			for _, w := range s.plan().Warnings {
				summary, detail, ok := strings.Cut(string(w), ": The workstream a completed without the output \"")
				if name, _, quoted := strings.Cut(detail, `"`); ok && quoted {
					summary += ": " + name
				}
				lines = append(lines, summary)
			}
			expect(t, strings.Join(lines, "\n"), tt.want)
		})
	}
}

// TestSkippedFirst: later steps are decided as if the workstreams that the plan skips were
// skipped already. The plan does not change the record.
func TestSkippedFirst(t *testing.T) {
	t.Parallel()
	const source = `
variable "on" { default = true }
---
phase "one" {
  workstream "a" {
    when   = var.on
    script = "a"
  }
  workstream "b" {
    when   = var.on
    script = "b"
  }
  workstream "c" { script = "c" }
  gate "check" {
    inputs  = ["none"]
    command = ["check"]
  }
}
phase "two" {
  workstream "d" { command = ["d", try(workstream.a.outputs.id, "none")] }
}
`
	off := func(s *session) {
		s.gives["a"] = map[string]string{"id": "1"}
		s.build()
		s.set("on", "false")
	}
	tell(t, []story{
		{"two are skipped now", source, off, `
			a: skipped: its when is false
			b: skipped: its when is false
			c: reuse: nothing changed since it completed
			check (one): judge: a is skipped
			d: rerun: upstream changed: a; definition changed`},
		{"they were skipped before", source, func(s *session) { s.set("on", "false"); s.build() }, `
			a: skipped: its when is false
			b: skipped: its when is false
			c: reuse: nothing changed since it completed
			check (one): reuse: passed, and nothing changed since
			d: reuse: nothing changed since it completed`},
	})
	s := newSession(t, source)
	off(s)
	s.plan()
	if got := s.st.Workstream("a").Status; got != state.Completed {
		t.Errorf("the plan has changed the status of a to %s", got)
	}
}

// TestPlanOf: a plan holds the session, the choices and the changed files from which it
// was made.
func TestPlanOf(t *testing.T) {
	t.Parallel()
	s := newSession(t, chain)
	s.edit("---\n", "---\ntitle = \"Notes\"\n")
	first := s.plan()
	if first.PRD != "PRD-001" || first.Title != "Notes" || first.Session != "" || first.BeginsFrom != nil {
		t.Errorf("before the first run: %+v", first)
	}
	built(s)
	s.choice, s.selection.Only = plan.ConflictKeep, []string{"a"}
	s.write("README", "1")
	p := s.plan()
	if p.Session != "S1" || p.Seq != s.st.Seq || p.OnConflict != plan.ConflictKeep || !slices.Equal(p.Selection.Only, []string{"a"}) {
		t.Errorf("of a session: %+v", p)
	}
	if len(p.ChangedFiles) != 1 || p.ChangedFiles[0].Path != "README" {
		t.Errorf("changed files: %+v", p.ChangedFiles)
	}
	if p.Count(plan.Rerun) != 1 || p.Count(plan.Blocked) != 2 {
		t.Errorf("%d run again, %d are blocked", p.Count(plan.Rerun), p.Count(plan.Blocked))
	}
	s.record(state.SessionCompleted{})
	if from := s.plan().BeginsFrom; from == nil || from.Session != "S1" || from.Seq != s.st.Seq {
		t.Errorf("after a complete session the plan begins from %+v", from)
	}
}

// TestPlanConflicts: a plan lists the edits that the user has to decide about.
func TestPlanConflicts(t *testing.T) {
	t.Parallel()
	s := newSession(t, press)
	pressed(s)
	s.write("out", "2")
	s.write("log", "2")
	p := s.plan()
	if len(p.Conflicts) != 2 || p.Refused != "nobody has decided about the edit of log and out" {
		t.Errorf("%d conflicts: %s", len(p.Conflicts), p.Refused)
	}
	s.choice = plan.ConflictRestore
	if p := s.plan(); len(p.Conflicts) != 0 || p.Refused != "" {
		t.Errorf("the edits are restored, but the plan has %d conflicts: %s", len(p.Conflicts), p.Refused)
	}
}

// TestWaitsFor: a step names the workstreams that it depends on or that block it.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	s := newSession(t, mail)
	s.build()
	s.write("text", "2")
	s.edit(`"send"`, `"post"`)
	for name, want := range map[string][]string{"text": nil, "mail": {"text"}, "log": {"mail"}} {
		if got := step(t, s.plan(), name).On; !slices.Equal(got, want) {
			t.Errorf("%s waits for %q, want %q", name, got, want)
		}
	}
	s = newSession(t, mail)
	killed(s)
	s.write("text", "2")
	if got := step(t, s.plan(), "log").On; !slices.Equal(got, []string{"mail"}) {
		t.Errorf("log is blocked by %q", got)
	}
	s = newSession(t, chain)
	s.start()
	if got := step(t, s.plan(), "b").On; !slices.Equal(got, []string{"a"}) {
		t.Errorf("b, which has never run, waits for %q", got)
	}
}

// TestPlanDigest: two plans have the same digest if they make the same decisions from the
// same input files, even if they are made at different times.
func TestPlanDigest(t *testing.T) {
	t.Parallel()
	s := newSession(t, chain)
	s.write("src/x", "1")
	s.start()
	digest := func() string { return s.plan().Facts }
	first := digest()
	later := s.planner().Plan(started.AddDate(1, 0, 0))
	if first == "" || later.Facts != first {
		t.Error("a plan that is made later has another digest")
	}
	s.write("README", "1")
	s.end()
	s.write("README", "2")
	if digest() != first {
		t.Error("only a file changed that no step reads, but the plan has another digest")
	}
	s.write("src/x", "2")
	if digest() == first {
		t.Error("an input of a workstream that has not run changed, but the plan has the same digest")
	}
	s.write("src/x", "1")
	s.adjust = func(f *plan.Facts) { delete(f.Inputs, "b") }
	if digest() != first {
		t.Error("b has no inputs, but the plan has another digest if the facts lack b")
	}
	s.selection.Only = []string{"a"}
	if digest() == first {
		t.Error("the plan has other decisions, but the same digest")
	}
	if data, err := json.Marshal(s.plan()); err != nil || !strings.Contains(string(data), `"decision":"blocked"`) {
		t.Errorf("a plan is %s, %v as JSON", data, err)
	}
}

func step(t *testing.T, p *plan.Plan, name string) plan.Step {
	t.Helper()
	for _, phase := range p.Phases {
		for _, s := range phase.Steps {
			if s.Name == name {
				return s
			}
		}
	}
	t.Fatalf("the plan has no step %s", name)
	return plan.Step{}
}
