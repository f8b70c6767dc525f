package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// waysToMove returns ways to move a workspace, or to change the user and the machine
// around it. Each returns the place with the moved workspace.
func waysToMove() map[string]func(p *place) *place {
	return map[string]func(p *place) *place{
		"into another folder": func(p *place) *place {
			to := filepath.Join(p.root, "a folder", "deeper", "WS")
			return p.at(to, os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(p.ws, to))
		},
		"by a copy, with other times and other inodes": func(p *place) *place {
			to := filepath.Join(p.root, "copy")
			cmd := p.command("cp", "-r", p.ws, to)
			out, err := cmd.CombinedOutput()
			if err != nil {
				p.t.Logf("%s", out)
			}
			return p.at(to, err, os.RemoveAll(p.ws), secure(filepath.Join(to, ".runner")))
		},
		"behind a link": func(p *place) *place {
			to := filepath.Join(p.root, "link")
			return p.at(to, os.Symlink(p.ws, to))
		},
		"to another home, user and time zone": func(p *place) *place {
			home := filepath.Join(p.root, "home2")
			p.environ = append(p.environ, "HOME="+home, "USER=somebody", "LOGNAME=somebody", "TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "PWD=/", "SHELL=/bin/false")
			return p.at(p.ws, os.Mkdir(home, 0o755))
		},
		"by an export": func(p *place) *place {
			archive := filepath.Join(p.root, "it.tar.gz")
			p.run(0, "checkpoint", "export", "PRD-001", "-o", archive)
			to := filepath.Join(p.root, "imported")
			q := p.at(to, os.Mkdir(to, 0o755), os.RemoveAll(p.ws))
			q.run(0, "checkpoint", "import", archive)
			return q
		},
		"twice, by exports of exports": func(p *place) *place {
			return waysToMove()["by an export"](waysToMove()["by an export"](p).again())
		},
	}
}

// at returns a copy of the place with the workspace ws. It fails the test if there is an
// error among errs.
func (p *place) at(ws string, errs ...error) *place {
	p.t.Helper()
	for _, err := range errs {
		if err != nil {
			p.t.Fatal(err)
		}
	}
	q := *p
	q.ws = ws
	return &q
}

// again returns a copy of the place with a new root, so that its workspace can be moved
// once more.
func (p *place) again() *place {
	p.t.Helper()
	root := filepath.Join(p.root, "again")
	q := *p
	q.root = root
	return q.at(q.ws, os.Mkdir(root, 0o755))
}

// secure makes the directories of a copied state directory accessible for their owner
// only.
func secure(dir string) error {
	return filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700) //nolint:gosec // a directory
	})
}

// TestElsewhereNothingRunsAgain moves the workspace of a failed session in several ways.
// The plan must reuse what has completed, and the resumed build must run only what had
// failed. Nextflow starts from the beginning in another folder (nextflow-io/nextflow
// 4856).
func TestElsewhereNothingRunsAgain(t *testing.T) {
	t.Parallel()
	for name, carry := range waysToMove() {
		for _, git := range []bool{false, true} {
			if git {
				name += ", in a git work tree"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := prepared(t, func(p *place) {
					p.write("PRD-001.hcl", countingPipeline)
					if git {
						p.git("init", "-q")
						p.git("add", ".")
						p.git("commit", "-q", "-m", "one")
					}
					p.run(1, "build", "PRD-001", "--var", "name=x")
				})
				q := carry(p)
				if plan := q.run(0, "plan", "PRD-001", "--resume", "--var", "name=x"); strings.Count(plan, "  reuse  ") != 4 || strings.Contains(plan, "rerun  ") {
					t.Errorf("the plan is\n%s", plan)
				}
				q.write("ok", "")
				q.run(0, "build", "PRD-001", "--resume", "--var", "name=x")
				starts := map[string]int{}
				for _, line := range q.journal() {
					for _, e := range line.Events {
						if e.Kind == "workstream.started" || e.Kind == "gate.started" {
							starts[e.Workstream+e.Gate]++
						}
					}
				}
				if want := map[string]int{"first": 1, "whole (first)": 1, "second": 1, "passed (one)": 1, "third": 2}; !maps.Equal(starts, want) {
					t.Errorf("the starts of each workstream and gate are %v, want %v", starts, want)
				}
			})
		}
	}
}

// countingPipeline has everything that the decision to run again can depend on: inputs, a
// dependency, a variable, a document, and gates of a workstream and of a phase.
const countingPipeline = `
variable "name" { type = string }
pipeline "PRD-001" {
  document = "prd.md"
  phase "one" {
    workstream "first" {
      inputs    = ["*.txt"]
      artifacts = ["gen/*.txt"]
      script    = "mkdir -p gen; cp notes.txt gen/a.txt"
      gate "whole" { command = ["test", "-s", "gen/a.txt"] }
    }
    workstream "second" {
      depends_on = [workstream.first]
      inputs     = ["gen/**"]
      artifacts  = ["out/name"]
      env        = { NAME = var.name }
      script     = "mkdir -p out; echo $NAME > out/name"
    }
    gate "passed" { command = ["test", "-s", "out/name"] }
  }
  phase "two" {
    workstream "third" {
      depends_on = [workstream.second]
      script     = "test -e ok"
    }
  }
}
`
