package survey_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/survey"
)

// TestKeepArtifacts: a workstream has ended, and Runner keeps the artifacts that it
// declares.
func TestKeepArtifacts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		declared string // the artifacts, as HCL
		play     func(*project)
		kept     string
		leftOut  string
		problem  string // part of the error
	}{
		{"none declared", `[]`, func(p *project) { p.save("a", "one") }, "", "", ""},
		{"a file", `["a"]`, func(p *project) { p.save("a", "one") }, "a=one", "", ""},
		{"an empty file", `["a"]`, func(p *project) { p.save("a", "") }, "a=", "", ""},
		{"a pattern", `["o/*"]`, func(p *project) {
			p.save("o/b", "two")
			p.save("o/a", "one")
		}, "o/a=one o/b=two", "", ""},
		{"a file that is missing", `["a"]`, func(*project) {}, "", "", `the declared artifact "a" does not exist`},
		{"the second of two is missing", `["a", "b"]`, func(p *project) { p.save("a", "one") }, "", "", `"b" does not exist`},
		{"excluded files", `["*.txt", "!b.txt"]`, func(p *project) {
			p.save("a.txt", "one")
			p.save("b.txt", "two")
		}, "a.txt=one", "", ""},
		{"all files are excluded", `["*.txt", "!b.txt"]`, func(p *project) { p.save("b.txt", "two") }, "", "", `"*.txt" does not exist`},
		{"an empty directory", `["o"]`, func(p *project) {
			p.save("o/x", "x")
			p.remove("o/x")
		}, "", "", "is a directory without a file that counts"},
		{"a link that leads out", `["out/a"]`, func(p *project) { p.link(p.T.TempDir(), "out") }, "", "", "does not exist: "},
		{"a link to a directory without the file", `["in/a"]`, func(p *project) {
			p.save("real/b", "two")
			p.link("real", "in")
		}, "", "", "does not exist: the link in leads to real, and no file matches there"},
		{"a link to a directory with the file", `["in/a"]`, func(p *project) {
			p.save("real/a", "one")
			p.link("real", "in")
		}, "in=real real/a=one", "", ""},
		{"a sensitive file", `["a", ".env"]`, func(p *project) {
			p.save("a", "one")
			p.save(".env", "two")
		}, ".env=two a=one", ".env", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, `phase "one" {
				workstream "make" {
					script    = "true"
					artifacts = `+tt.declared+`
				}
			}`)
			tt.play(p)
			kept, leftOut, err := p.surveyor().KeepArtifacts(context.Background(), p.p.Workstream("make"))
			if tt.problem != "" {
				var unmade *survey.UnmadeError
				if !errors.As(err, &unmade) || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("got error %v, want %q", err, tt.problem)
				}
				return
			}
			must(t, err)
			same(t, "kept", p.show(kept), tt.kept)
			same(t, "left out", strings.Join(leftOut, " "), tt.leftOut)
			for _, a := range kept {
				wantObject := string(a.Path) != tt.leftOut
				if a.LeftOut == wantObject || checkpointtest.Has(t, p.store, a) != map[bool]string{true: "1", false: "0"}[wantObject] {
					t.Errorf("%s: left out is %t, and the number of objects is %s", a.Path, a.LeftOut, checkpointtest.Has(t, p.store, a))
				}
			}
		})
	}
}

// TestMissingBehindLink: an artifact is missing, and there are links on the way of no
// pattern. The error does not mention these links.
func TestMissingBehindLink(t *testing.T) {
	t.Parallel()
	p := newProject(t, makers)
	p.save("real/x", "x")
	p.link("real", "other")
	err := survey.CheckMade(context.Background(), p.files, p.p.Workstream("over"))
	if err == nil || err.Error() != `the declared artifact "a.txt" does not exist` {
		t.Errorf("got error %v", err)
	}
}

// TestKeepLeftFiles: an attempt has failed. Only the artifacts of other workstreams that
// it changed are kept, with their new content.
func TestKeepLeftFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t, makers)
	for _, path := range []string{"same", "edited", "gone", ".env"} {
		p.save(path, "was")
	}
	shared := p.keep(".env", "edited", "gone", "same")
	p.save("edited", "now")
	p.save(".env", "now, too")
	p.remove("gone")
	left, err := p.surveyor().KeepLeftFiles(context.Background(), shared)
	must(t, err)
	same(t, "left", p.show(left), ".env=now, too edited=now gone=missing")
	for _, a := range left {
		if a.LeftOut != (a.Path == ".env") {
			t.Errorf("%s: left out is %t", a.Path, a.LeftOut)
		}
	}
	p.remove("same")
	must(t, os.Mkdir(filepath.Join(p.Root, "same"), 0o755))
	if _, err := p.surveyor().KeepLeftFiles(context.Background(), shared); err == nil {
		t.Error("an artifact is a directory now, and there is no error")
	}
}

// TestResurvey: judged files and artifacts are read a second time, and changes are seen.
func TestResurvey(t *testing.T) {
	t.Parallel()
	p := newProject(t, makers+`phase "three" {
		workstream "read" {
			script = "true"
			gate "check" {
				inputs = ["a.txt"]
				script = "true"
			}
		}
	}`)
	p.save("a.txt", "one")
	p.save("dir/x", "x")
	s, f := p.surveyor(), p.gather()
	g := p.p.Workstream("read").Gates[0]
	p.save("a.txt", "new")
	now, err := s.Resurvey(context.Background(), f, p.p.Workstream("read").Gates, []string{"a.txt", "dir", "missing"})
	must(t, err)
	same(t, "judged", p.show(f.Judging[g.Label()].Files), "a.txt=new")
	if len(now) != 2 || now["a.txt"] == nil || now["dir"] == nil {
		t.Fatalf("got %v, want a.txt and dir", now)
	}
	same(t, "artifacts", p.show([]state.Artifact{*now["a.txt"]}), "a.txt=new")
	same(t, "a directory", now["dir"].Digest, "not a file")
}
