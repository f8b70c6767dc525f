package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prdrunner/checkpoint/workspace"
)

// place is a separate environment for the commands of a test: a workspace, a home and a
// directory for temporary files, all in one directory that a test can compare.
type place struct {
	t       *testing.T
	root    string
	ws      string   // the workspace
	environ []string // the environment of the commands
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, root: t.TempDir()}
	p.ws = filepath.Join(p.root, "ws")
	for _, dir := range []string{"ws", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(p.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.environ = append(slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "PRDRUNNER_") || strings.HasPrefix(name, "GIT_") || name == "CI"
	}), "HOME="+filepath.Join(p.root, "home"), "TMPDIR="+filepath.Join(p.root, "tmp"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A User", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=A User", "GIT_COMMITTER_EMAIL=user@example.com")
	return p
}

// command returns a command that runs in the workspace, with a time limit.
func (p *place) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(p.t.Context(), 4*patience)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.ws, p.environ
	return cmd
}

// run runs runner without a terminal, checks its exit code, and returns its output.
func (p *place) run(want int, args ...string) string {
	p.t.Helper()
	out, code := p.try(args...)
	if code != want {
		p.t.Fatalf("runner %s: exit code %d instead of %d\n%s", strings.Join(args, " "), code, want, out)
	}
	return out
}

// try runs runner without a terminal, and returns its output and its exit code.
func (p *place) try(args ...string) (out string, code int) {
	p.t.Helper()
	cmd := p.command("runner", args...)
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.t.Fatalf("runner %s: %v", strings.Join(args, " "), err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// git runs git.
func (p *place) git(args ...string) string {
	p.t.Helper()
	out, err := p.command("git", args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// write writes a file of the workspace.
func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.ws, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// read reads a file of the workspace.
func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.ws, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// remove removes a file of the workspace.
func (p *place) remove(name string) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.ws, name)); err != nil {
		p.t.Fatal(err)
	}
}

// exists reports whether there is something at a path of the workspace.
func (p *place) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(p.ws, name))
	return err == nil
}

// describeTree describes every file of the place, with inode, owner and times. The change
// time shows even an edit that was undone.
func (p *place) describeTree() map[string]string {
	p.t.Helper()
	all, err := describeTree(p.root, func(info fs.FileInfo) string {
		at := info.Sys().(*syscall.Stat_t)
		return fmt.Sprint("inode ", at.Ino, " owner ", at.Uid, " modified ", info.ModTime().UnixNano(), " changed ", at.Ctim.Nano())
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// situationPipeline is a pipeline that files in the workspace control: with the file
// hold, the second phase runs for ten minutes; without the file ok, it fails. At the end
// the pipeline asks for an approval.
const situationPipeline = `
pipeline "PRD-001" {
  document = "prd.md"
  phase "one" {
    workstream "make" {
      inputs    = ["notes.txt"]
      artifacts = ["gen/a.txt"]
      script    = "mkdir -p gen && cat notes.txt > gen/a.txt"
      gate "check" { command = ["test", "-s", "gen/a.txt"] }
    }
  }
  phase "two" {
    workstream "mend" {
      depends_on = [workstream.make]
      script     = "if test -e hold; then exec sleep 600; fi; test -e ok || { echo main.go:3: no; exit 1; }"
    }
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }
}
`

// situations returns functions that bring a place into each state in which commands can
// find a session.
func situations() map[string]func(p *place) {
	return map[string]func(p *place){
		"no session": func(*place) {},
		"failed":     (*place).failed,
		"failed in a git work tree": func(p *place) {
			p.git("init", "-q")
			p.git("add", ".")
			p.git("commit", "-q", "-m", "one")
			p.failed()
			p.write("notes.txt", "edited\n")
			p.write("new/untracked.txt", "new\n")
			p.run(0, "safety", "create", "--scope", "notes.txt", "--scope", "new/**")
			p.write("notes.txt", "edited again\n")
			// git status would write this new time to the index, which counts as a
			// change.
			now := time.Now()
			if err := os.Chtimes(filepath.Join(p.ws, "prd.md"), now, now); err != nil {
				p.t.Fatal(err)
			}
		},
		"running":  func(p *place) { p.running() },
		"killed":   (*place).killed,
		"waiting":  (*place).waiting,
		"complete": (*place).complete,
		"rolled back half-way": func(p *place) {
			p.failed()
			cutRollbackShort(p.t.Context(), func(err error) {
				if err != nil {
					p.t.Fatal(err)
				}
			}, p.ws, nil, workspace.GitOff, "PRD-001", "0")
		},
		"edited artifact, changed document": func(p *place) {
			p.failed()
			p.write("gen/a.txt", "edited\n")
			p.write("prd.md", "changed\n")
		},
		"started anew": func(p *place) {
			p.failed()
			p.run(1, "build", "PRD-001", "--fresh")
		},
		"written by hand": func(p *place) {
			p.write(".runner/PRD-001.json", handWrittenDocument)
			if err := os.Chmod(filepath.Join(p.ws, ".runner"), 0o700); err != nil { //nolint:gosec // a directory
				p.t.Fatal(err)
			}
		},
		"damaged": func(p *place) {
			p.failed()
			p.write(".runner/PRD-001/journal.jsonl", "garbage\n")
		},
		"damaged checkpoint": func(p *place) {
			p.failed()
			for _, name := range p.checkpoints() {
				p.write(name, "garbage\n")
			}
		},
	}
}

// prepared returns a new place in a situation.
func prepared(t *testing.T, situation func(p *place)) *place {
	t.Helper()
	p := newPlace(t)
	p.write("PRD-001.hcl", situationPipeline)
	p.write("notes.txt", "notes\n")
	p.write("prd.md", "# What to do\n")
	situation(p)
	return p
}

func (p *place) failed() { p.run(1, "build", "PRD-001") }

func (p *place) waiting() {
	p.write("ok", "")
	p.run(3, "build", "PRD-001")
}

func (p *place) complete() {
	p.waiting()
	p.run(0, "approve", "PRD-001")
	p.run(0, "build", "PRD-001", "--resume")
}

func (p *place) killed() {
	cmd := p.running()
	if err := cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	p.remove("hold")
}

// running starts a build whose second phase runs until the test ends. It returns when
// that phase has started and the PRD document is up to date, so that no more files
// change.
func (p *place) running() *exec.Cmd {
	p.t.Helper()
	p.write("hold", "")
	cmd := p.command("runner", "build", "PRD-001")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	p.until("the second phase runs, and the document says so", func() bool {
		var doc struct {
			Runner struct {
				Seq uint64 `json:"seq"`
			} `json:"runner"`
		}
		lines := p.journal()
		started := slices.ContainsFunc(lines, func(l journalLine) bool {
			return slices.ContainsFunc(l.Events, func(e journalEvent) bool { return e.Kind == "workstream.started" && e.Workstream == "mend" })
		})
		data, err := os.ReadFile(filepath.Join(p.ws, ".runner", "PRD-001.json"))
		return started && err == nil && json.Unmarshal(data, &doc) == nil && doc.Runner.Seq == lines[len(lines)-1].Seq
	})
	return cmd
}

// until waits until holds returns true. The text what describes that condition in the
// failure message.
func (p *place) until(what string, holds func() bool) {
	p.t.Helper()
	ticks, over := time.NewTicker(5*time.Millisecond), time.NewTimer(patience)
	defer ticks.Stop()
	defer over.Stop()
	for !holds() {
		select {
		case <-ticks.C:
		case <-over.C:
			p.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// journal reads the journal of the session.
func (p *place) journal() []journalLine {
	p.t.Helper()
	return readJournal(p.t, filepath.Join(p.ws, ".runner", "PRD-001", "journal.jsonl"))
}

// checkpoints returns the paths of the checkpoint files in the workspace.
func (p *place) checkpoints() []string {
	p.t.Helper()
	paths, err := filepath.Glob(filepath.Join(p.ws, ".runner", "PRD-001", "checkpoints", "*"))
	if err != nil || len(paths) == 0 {
		p.t.Fatalf("there are no checkpoints: %v", err)
	}
	for i, path := range paths {
		paths[i], err = filepath.Rel(p.ws, path)
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return paths
}

// handWrittenDocument is a PRD document that a user wrote. It says that the first phase
// is complete.
const handWrittenDocument = `{
  "prd": "PRD-001",
  "prd_title": "By hand",
  "current_phase": 1,
  "status": "paused",
  "completed_workstreams": ["make"],
  "in_progress_workstreams": [],
  "pending_workstreams": ["mend"],
  "artifacts": {},
  "gates_passed": ["check (make)"],
  "gates_pending": ["sign-off (two)"],
  "timestamp": "2025-12-11T10:16:00Z"
}
`
