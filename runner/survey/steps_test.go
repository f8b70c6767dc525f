package survey_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// TestInputs: the inputs of a workstream are the files that match its patterns, without
// its own artifacts. Facts name the workstreams that make some of them, and the files that
// a workstream may write which has not necessarily ended.
func TestInputs(t *testing.T) {
	t.Parallel()
	p := newProject(t, `
phase "one" {
  workstream "first" {
    script    = "true"
    artifacts = ["first", "both"]
  }
}
phase "two" {
  workstream "beside" {
    script    = "true"
    artifacts = ["beside", "both"]
  }
  workstream "read" {
    script    = "true"
    inputs    = ["*", "!*.hcl"]
    artifacts = ["own", "lost"]
  }
  workstream "none" { script = "true" }
}
`)
	for _, path := range []string{"beside", "both", "first", "own", "secret"} {
		p.save(path, path)
	}
	p.save("lost", "lost")
	p.complete("read", p.keep("lost")...)
	p.remove("lost")
	f := p.gather()
	set := f.Inputs["read"]
	same(t, "inputs", p.show(set.Files), "beside=beside both=both first=first ***=secret")
	same(t, "makers", strings.Join(f.Makers["read"], " "), "first")
	var shared []string
	for _, file := range set.Shared {
		shared = append(shared, fmt.Sprintf("%s %t", file.Path, file.Before))
	}
	same(t, "shared files", strings.Join(shared, ", "), "beside false, both true")
	same(t, "sum", set.Sum, plan.DigestFiles(set.Files))
	if set.Seq != f.Seq || f.Seq == 0 {
		t.Errorf("the files were read at commit %d, want %d", set.Seq, f.Seq)
	}
	if _, gathered := f.Inputs["none"]; gathered {
		t.Error("a workstream without inputs has some")
	}
	must(t, p.surveyor().Workstream(context.Background(), f, p.p.Workstream("none"), nil))
	same(t, "inputs of a workstream that declares none", p.show(f.Inputs["none"].Files), "")
}

// TestWhoseInputs: the inputs of a workstream that runs in any case are gathered only if it has a
// cache or the survey is thorough.
func TestWhoseInputs(t *testing.T) {
	t.Parallel()
	p := newProject(t, `
phase "one" {
  workstream "done" {
    script = "true"
    inputs = ["a"]
  }
  workstream "new" {
    script = "true"
    inputs = ["a"]
  }
  workstream "failed" {
    script        = "true"
    inputs        = ["a"]
    allow_failure = true
  }
  workstream "cached" {
    script = "true"
    inputs = ["a"]
    effect = "pure"
    cache  = true
  }
  workstream "none" {
    script = "true"
    effect = "pure"
    cache  = true
  }
}
`)
	p.save("a", "one")
	p.complete("done")
	p.record(state.WorkstreamStarted{Workstream: "failed", Attempt: 1}, state.WorkstreamFailed{Workstream: "failed", Allowed: true})
	for thorough, want := range map[bool]string{false: "cached=1 done=1 failed=1 new=0 none=0", true: "cached=1 done=1 failed=1 new=1 none=0"} {
		_, f := p.gatherAs(plan.ConflictAsk, thorough)
		var got []string
		for _, name := range []string{"cached", "done", "failed", "new", "none"} {
			got = append(got, fmt.Sprintf("%s=%d", name, len(f.Inputs[name].Files)))
		}
		same(t, fmt.Sprintf("number of inputs, thorough=%t", thorough), strings.Join(got, " "), want)
	}
}

// TestJudgedFiles: a gate judges its inputs, or else what its workstream, or what each
// workstream of its phase, reads and makes.
func TestJudgedFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, workstream, gate string
		ofPhase                bool
		judged, makers         string
	}{
		{"its inputs", `artifacts = ["a"]`, `inputs = ["b"]`, false, "b=two", ""},
		{"inputs and artifacts of its workstream", "inputs = [\"b\"]\n artifacts = [\"a\"]", "", false, "a=one b=two", "make"},
		{"nothing is declared", "", "", false, "", ""},
		{"artifacts of its phase", `artifacts = ["a"]`, "", true, "a=one", "make"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gate := "gate \"check\" {\n script = \"true\"\n" + tt.gate + "\n}\n"
			inside, outside := gate, ""
			if tt.ofPhase {
				inside, outside = "", gate
			}
			p := newProject(t, "phase \"one\" {\n workstream \"make\" {\n script = \"true\"\n"+tt.workstream+"\n"+inside+"}\n"+outside+"}")
			p.save("a", "one")
			p.save("b", "two")
			label := "check (make)"
			if tt.ofPhase {
				label = p.p.Phases[0].Gates[0].Label()
			}
			if _, gathered := p.gather().Judging[label]; gathered {
				t.Error("the files of a gate that has not passed were gathered")
			}
			p.pass(label)
			f := p.gather()
			if _, gathered := f.Judging[label]; !gathered {
				t.Error("the files were not gathered")
			}
			same(t, "judged files", p.show(f.Judging[label].Files), tt.judged)
			same(t, "makers", strings.Join(f.JudgedMakers[label], " "), tt.makers)
		})
	}
}

// TestGatherUnder: a workstream is about to write over files that match its artifacts.
// Sensitive names are masked.
func TestGatherUnder(t *testing.T) {
	t.Parallel()
	p := newProject(t, makers)
	p.save("a.txt", "one")
	p.save("secret.txt", "two")
	p.rewrite(strings.Replace(makers, "?.txt", "*.txt", 1))
	f := p.gather()
	must(t, p.surveyor().GatherUnder(context.Background(), f, p.p.Workstream("make")))
	same(t, "files", p.show(f.ArtifactFiles["make"].Files), "a.txt=one ***.txt=two")
}

// TestDocument: the facts have the digest of the document of the pipeline.
func TestDocument(t *testing.T) {
	t.Parallel()
	p := newProject(t, makers)
	if f := p.gather(); f.Document != nil {
		t.Errorf("the pipeline names no document, and the facts have %v", f.Document)
	}
	p.rewrite("document = \"docs/prd.md\"\n" + makers)
	same(t, "missing", p.gather().Document.Digest, "")
	p.save("docs/prd.md", "text")
	same(t, "document", p.gather().Document.Digest, checkpointtest.DigestText("text"))
	same(t, "path", string(p.gather().Document.Path), "docs/prd.md")
	p.remove("docs/prd.md")
	must(t, os.Mkdir(filepath.Join(p.Root, "docs", "prd.md"), 0o755))
	f := plan.NewFacts(p.state())
	if err := p.surveyor().GatherAll(context.Background(), f, p.state(), nil, plan.ConflictAsk, true); err == nil {
		t.Error("the document is a directory, and there is no error")
	}
}

// head is a Git with fixed answers.
type head struct {
	head            *state.Git
	deleted         bool
	headErr, delErr error
}

func (h head) Head(context.Context) (*state.Git, error)         { return h.head, h.headErr }
func (h head) Deleted(context.Context, state.Git) (bool, error) { return h.deleted, h.delErr }

// TestGit: the branch of the session's last run was deleted. The facts say so only if
// another branch is checked out.
func TestGit(t *testing.T) {
	t.Parallel()
	on := func(branch state.Text) *state.Git { return &state.Git{Branch: branch, Commit: "c1"} }
	for _, tt := range []struct {
		name string
		git  head
		was  *state.Git
		gone bool
		err  bool
	}{
		{"another branch", head{head: on("main"), deleted: true}, on("work"), true, false},
		{"another branch, and the branch exists", head{head: on("main")}, on("work"), false, false},
		{"the same branch", head{head: on("work"), deleted: true}, on("work"), false, false},
		{"no work tree", head{deleted: true}, on("work"), false, false},
		{"a detached head", head{head: on(""), deleted: true}, on("work"), false, false},
		{"the last run had a detached head", head{head: on("main"), deleted: true}, on(""), false, false},
		{"the last run had no work tree", head{head: on("main"), deleted: true}, nil, false, false},
		{"git fails", head{headErr: errors.New("no")}, on("work"), false, true},
		{"git fails to find the branch", head{head: on("main"), delErr: errors.New("no")}, on("work"), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, makers)
			p.record(state.SessionResumed{Pipeline: p.source(), Git: tt.was})
			f := plan.NewFacts(p.state())
			f.BranchGone = true
			err := p.surveyor().GatherAll(context.Background(), f, p.state(), tt.git, plan.ConflictAsk, true)
			if (err != nil) != tt.err {
				t.Fatalf("got error %v", err)
			}
			if err == nil && (f.BranchGone != tt.gone || f.Git != tt.git.head) {
				t.Errorf("the branch is gone: %t; the head is %v", f.BranchGone, f.Git)
			}
		})
	}
}

// TestFirstRun: there is no session yet.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	p := newProject(t, chain+`phase "three" {
		workstream "judge" {
			script = "true"
			gate "check" { script = "true" }
		}
		gate "all" { script = "true" }
	}`)
	p.save("a.txt", "one")
	f := plan.NewFacts(nil)
	git := head{head: &state.Git{Branch: "main"}}
	must(t, p.surveyor().GatherAll(context.Background(), f, nil, git, plan.ConflictAsk, true))
	same(t, "inputs", p.show(f.Inputs["read"].Files), "a.txt=one")
	same(t, "reason", f.NoCaptureReason, noCapture)
	if len(f.Judging)+len(f.Current)+len(f.ChangedFiles) > 0 || f.BranchGone {
		t.Errorf("the facts tell of an earlier run: %+v", f)
	}
}
