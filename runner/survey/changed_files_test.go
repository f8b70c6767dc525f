package survey_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
	"prdrunner/pipeline/files"
	"prdrunner/runner/plan"
)

// judged has a gate that may judge any file, since make declares none.
const judged = `
phase "one" {
  workstream "make" {
    script = "true"
    gate "check" { script = "true" }
  }
  workstream "other" {
    script    = "true"
    artifacts = ["made"]
  }
}
`

// judgedBy returns judged with another definition of the gate.
func judgedBy(gate string) string {
	return strings.Replace(judged, `{ script = "true" }`, "{\n"+gate+"\n}", 1)
}

// noCapture is the reason if there is no capture of all files.
const noCapture = "no capture of the whole workspace could prove it unchanged"

// object returns the path of an object in the state directory.
func (p *project) object(digest string) string {
	p.T.Helper()
	path, _, err := p.store.Objects().Path(digest)
	must(p.T, err)
	return path
}

// reopen opens the workspace again, so that listings are read from their objects.
func (p *project) reopen() { p.files = p.Workspace(p.store) }

// switchGitOff opens the workspace of a git project again, for captures without git.
func (p *project) switchGitOff() {
	p.T.Helper()
	var err error
	p.files, err = p.store.OpenWorkspace(p.Root, p.files.Git(), workspace.GitOff)
	must(p.T, err)
	p.T.Cleanup(func() { must(p.T, p.files.Close()) })
}

// git runs git in the workspace.
func (p *project) git(args ...string) {
	p.T.Helper()
	must(p.T, gittest.Commander{}.Run(context.Background(), git.Command{Args: append([]string{"git"}, args...), Dir: p.Root}))
}

func describeChanges(f *plan.Facts) string {
	var all []string
	for _, c := range f.ChangedFiles {
		all = append(all, fmt.Sprintf("%s %s", c.Path, c.Kind))
	}
	return strings.Join(all, ", ")
}

// TestChangedFiles: the facts name the files that changed since the last run ended, and
// say why no capture proves the workspace unchanged.
func TestChangedFiles(t *testing.T) {
	t.Parallel()
	end := func(p *project) { p.end("**") }
	for _, tt := range []struct {
		name    string
		body    string // "": judged
		git     bool
		before  func(*project) // plays the run
		after   func(*project) // plays what happens then
		changes string
		reason  string
	}{
		{name: "no capture", before: func(*project) {}, reason: noCapture},
		{name: "nothing happened", before: end},
		{name: "edited, added and deleted", before: end, after: func(p *project) {
			p.save("a", "edit")
			p.save("new", "new")
			p.remove("b")
		}, changes: "a modified, b deleted, new added"},
		{name: "the plan file is new", before: end, after: func(p *project) {
			p.ownFiles = []string{"saved.plan"}
			p.save("saved.plan", "plan")
		}},
		{name: "an artifact was recorded after the capture", before: func(p *project) {
			p.capture("**")
			p.save("made", "one")
			p.complete("other", p.keep("made")...)
			p.record(state.SessionFailed{})
		}},
		{name: "the capture covers only some files", before: func(p *project) { p.end("a") }, after: func(p *project) {
			p.save("a", "edit")
			p.save("new", "new")
		}, changes: "a modified", reason: noCapture},
		{name: "no gate judges any file", body: strings.Replace(judged, `gate "check" { script = "true" }`, "", 1), before: end, reason: noCapture},
		{name: "only a person judges", body: judgedBy(`approval { message = "OK?" }`), before: end, reason: noCapture},
		{name: "the gate declares its files", body: judgedBy("script = \"true\"\n inputs = [\"a\"]"), before: end, reason: noCapture},
		{name: "a gate of the phase may judge any file", body: strings.Replace(judged, `gate "check" { script = "true" }
  }`, `}
  gate "check" { script = "true" }`, 1), before: end},
		{name: "the listing is lost", before: end, after: func(p *project) {
			must(p.T, p.FS.Remove(p.object(p.state().RunCapture.Listing)))
			p.reopen()
		}, reason: noCapture},
		{name: "a sensitive file", before: func(p *project) {
			p.save(".env", "key")
			p.end("**")
		}, after: func(p *project) { p.save(".env", "another key") }, reason: "captures leave out .env"},
		{name: "a sensitive file that git tracks now", git: true, before: func(p *project) {
			p.save(".env", "key")
			p.end()
		}, after: func(p *project) { p.git("add", ".env") }, reason: "captures leave out .env"},
		{name: "a directory that is another repository", git: true, before: func(p *project) { p.end() }, after: func(p *project) {
			p.git("init", "--quiet", "sub")
			p.save("sub/x", "x")
		}, reason: "captures cannot take in sub"},
		{name: "in git, nothing happened", git: true, before: func(p *project) { p.end() }},
		{name: "git ignores a file", git: true, before: func(p *project) { p.end() }, after: func(p *project) {
			p.save("x.log", "x")
		}, reason: "captures leave out x.log, which git ignores"},
		{name: "git ignores the plan file", git: true, before: func(p *project) { p.end() }, after: func(p *project) {
			p.ownFiles = []string{"other", "plan.log"}
			p.save("plan.log", "x")
		}},
		{name: "git is no longer used", git: true, before: func(p *project) { p.end() }, after: func(p *project) {
			p.reopen()
		}, reason: "captures leave out what nothing declares, since they are made without git now"},
		{name: "git is switched off", git: true, before: func(p *project) { p.end() }, after: func(p *project) {
			p.switchGitOff()
			p.save("a", "edit")
		}, changes: "a modified"},
		{name: "git is switched off, and the repository is gone", git: true, before: func(p *project) { p.end() }, after: func(p *project) {
			p.switchGitOff()
			p.remove(".git")
		}, reason: "captures leave out what nothing declares, since they are made without git now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			make, body := newProject, judged
			if tt.git {
				make = newGitProject
			}
			if tt.body != "" {
				body = tt.body
			}
			p := make(t, body)
			p.save("a", "one")
			p.save("b", "two")
			tt.before(p)
			if tt.after != nil {
				tt.after(p)
			}
			f := p.gather()
			same(t, "changes", describeChanges(f), tt.changes)
			same(t, "reason", f.NoCaptureReason, tt.reason)
			if f.CaptureError != nil {
				t.Errorf("the capture can't be read: %v", f.CaptureError)
			}
		})
	}
}

// TestDamagedCapture: the listing of the last capture is damaged. The facts have the
// error, and Runner does not stop.
func TestDamagedCapture(t *testing.T) {
	t.Parallel()
	p := newProject(t, judged)
	p.end("**")
	must(t, store.WriteFile(p.FS, p.object(p.state().RunCapture.Listing), []byte("damaged")))
	p.reopen()
	f := p.gather()
	if f.CaptureError == nil || !strings.Contains(f.CaptureError.Error(), "what changed since the last run is not known") {
		t.Errorf("got error %v", f.CaptureError)
	}
	same(t, "reason", f.NoCaptureReason, noCapture)
}

// TestChangedInRun: a gate that may judge any file has passed. The facts say what changed
// between the last capture before the verdict and the end of the run.
func TestChangedInRun(t *testing.T) {
	t.Parallel()
	const label = "check (make)"
	mark := func(p *project, patterns ...string) {
		p.capture(patterns...)
		checkpointtest.Mark(p.T, p.session, state.TriggerManual)
	}
	pipe := func(p *project) { makePipe(p.T, filepath.Join(p.Root, "pipe")) }
	for _, tt := range []struct {
		name string
		play func(*project)
		want string
	}{
		{"nothing was captured before", func(p *project) {
			p.pass(label)
			p.end("**")
		}, "nothing was captured before it was judged"},
		{"nothing changed", func(p *project) {
			mark(p, "**")
			p.pass(label)
			p.end("**")
		}, ""},
		{"a file was edited after the verdict", func(p *project) {
			mark(p, "**")
			p.pass(label)
			p.save("a", "edit")
			p.end("**")
		}, "a was modified in the run that judged it"},
		{"a file was edited before the verdict, and captured", func(p *project) {
			mark(p, "**")
			p.save("a", "edit")
			mark(p, "**")
			p.pass(label)
			p.end("**")
		}, ""},
		{"a file was edited and captured, and edited again", func(p *project) {
			mark(p, "**")
			p.save("a", "edit")
			mark(p, "**")
			p.pass(label)
			p.save("a", "one")
			p.save("b", "edit")
			p.end("**")
		}, "a was modified in the run that judged it"},
		{"a capture before the verdict is the last one", func(p *project) {
			p.capture("**")
			p.pass(label)
			p.record(state.SessionFailed{})
		}, ""},
		{"the captures cover other files", func(p *project) {
			mark(p, "a")
			p.pass(label)
			p.end("**")
		}, "PRD-009.hcl is in only one of the captures before and after it was judged"},
		{"the captures have other patterns, and the same files", func(p *project) {
			mark(p, "**/*")
			p.pass(label)
			p.end("**")
		}, ""},
		{"a pipe could not be captured", func(p *project) {
			pipe(p)
			mark(p, "**")
			p.remove("pipe")
			p.pass(label)
			p.end("**")
		}, "not every file could be captured before it was judged"},
		{"the capture before the verdict is lost", func(p *project) {
			mark(p, "**")
			p.pass(label)
			listing := p.state().RunCapture.Listing
			p.save("a", "edit")
			p.end("**")
			must(p.T, p.FS.Remove(p.object(listing)))
			p.reopen()
		}, "what was captured before it was judged is lost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, judged)
			p.save("a", "one")
			p.save("b", "two")
			tt.play(p)
			f := p.gather()
			got, gathered := f.ChangedInRun[label]
			same(t, "change", got, tt.want)
			if !gathered {
				t.Error("there is no fact about the gate")
			}
		})
	}
}

// TestChangedInRunForTwoGates: two gates were judged after the same capture. The facts
// say the same about both.
func TestChangedInRunForTwoGates(t *testing.T) {
	t.Parallel()
	p := newProject(t, strings.Replace(judged, `gate "check" { script = "true" }`, `gate "check" { script = "true" }
    gate "again" { script = "true" }`, 1))
	p.save("a", "one")
	p.capture("**")
	checkpointtest.Mark(t, p.session, state.TriggerManual)
	p.pass("check (make)")
	p.pass("again (make)")
	p.save("a", "edit")
	p.end("**")
	f := p.gather()
	for _, label := range []string{"check (make)", "again (make)"} {
		same(t, label, f.ChangedInRun[label], "a was modified in the run that judged it")
	}
}

// TestNotChangedInRun: the facts say nothing about a gate that has not passed, that
// declares its files, or that no command judges.
func TestNotChangedInRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, gate string
		play       func(*project)
		gathered   bool
		judging    string // the files that the gate judges
	}{
		{"it has not passed", `script = "true"`, func(*project) {}, false, ""},
		{"it failed", `script = "true"`, func(p *project) {
			p.record(state.GateStarted{Gate: "check (make)", Attempt: 1}, state.GateFailed{Verdict: state.Verdict{Gate: "check (make)"}})
		}, false, ""},
		{"it declares its files", "script = \"true\"\n inputs = [\"a\"]", func(p *project) { p.pass("check (make)") }, false, "a=edit"},
		{"a condition", "condition = true\n error_message = \"no\"", func(p *project) { p.pass("check (make)") }, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, judgedBy(tt.gate))
			p.save("a", "one")
			p.capture("**")
			checkpointtest.Mark(t, p.session, state.TriggerManual)
			tt.play(p)
			p.save("a", "edit")
			p.end("**")
			f := p.gather()
			got, gathered := f.ChangedInRun["check (make)"]
			same(t, "change", got, "")
			if gathered != tt.gathered {
				t.Errorf("there is a fact about the gate: %t", gathered)
			}
			same(t, "judged files", p.show(f.Judging["check (make)"].Files), tt.judging)
		})
	}
}

// TestEarlierPipeline: the pipeline has changed since the last run. The facts have its
// earlier source if a capture has it.
func TestEarlierPipeline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(*project)
		edit   bool
		want   bool
	}{
		{"changed", func(p *project) { p.end("**") }, true, true},
		{"unchanged", func(p *project) { p.end("**") }, false, false},
		{"not captured", func(*project) {}, true, false},
		{"captured without the pipeline", func(p *project) { p.end("a") }, true, false},
		{"changed before the capture, too", func(p *project) {
			p.save("PRD-009.hcl", "other")
			p.end("**")
		}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, judged)
			p.save("a", "one")
			was, err := os.ReadFile(filepath.Join(p.Root, "PRD-009.hcl"))
			must(t, err)
			tt.before(p)
			if tt.edit {
				p.rewrite(judged + "# edited")
			}
			want := ""
			if tt.want {
				want = string(was)
			}
			same(t, "earlier source", string(p.gather().EarlierPipeline), want)
		})
	}
}

// TestEarlierFiles: the content of a changed file before the change can be read. A new
// file has none.
func TestEarlierFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t, judged)
	p.save("a", "one")
	p.end("**")
	if f := p.gather(); f.EarlierFiles != nil {
		t.Errorf("nothing has changed, but there are earlier files: %v", f.EarlierFiles)
	}
	p.save("a", "edit")
	p.save("b", "new")
	f := p.gather()
	if open, there := f.EarlierFiles["b"]; !there || open != nil {
		t.Errorf("the new file is among the changed ones: %t; it has earlier content: %t", there, open != nil)
	}
	same(t, "earlier content", readAll(t, f.EarlierFiles, "a"), "one")
}

func readAll(t *testing.T, files files.Contents, path string) string {
	t.Helper()
	if files[path] == nil {
		t.Fatalf("%s is not among the files", path)
	}
	r, err := files[path]()
	must(t, err)
	data, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	return string(data)
}

// TestGatherForAnswer: a person answers the question of a gate. Changed files are looked
// for only if the gate declares no files.
func TestGatherForAnswer(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{"": "a modified", "inputs = [\"a\"]": ""} {
		t.Run("declared: "+declared, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, judgedBy("approval { message = \"OK?\" }\n"+declared))
			p.save("a", "one")
			p.end("**")
			p.save("a", "edit")
			f, g := plan.NewFacts(p.state()), p.p.Workstream("make").Gates[0]
			must(t, p.surveyor().GatherForAnswer(context.Background(), f, p.state(), g))
			same(t, "changes", describeChanges(f), want)
			judging := map[string]string{"a modified": "", "": "a=edit"}[want]
			same(t, "judged files", p.show(f.Judging[g.Label()].Files), judging)
			if f.Links == nil || !slices.Equal(f.Links.Extend([]string{"a"}), []string{"a"}) {
				t.Error("the facts have no links")
			}
		})
	}
}
