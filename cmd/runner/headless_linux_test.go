package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// question is a command that would ask a person at a terminal, or that waits for a
// person.
type question struct {
	name      string
	situation func(p *place)
	args      string // ARCHIVE stands for an export of another session, REFS for the id of another state directory
	code      int
	says      string // text of the output, which names the flag or command that decides
	unchanged bool   // the command must change nothing
}

// questions returns all questions, by the command that asks.
func questions() map[string][]question {
	edited := func(p *place) {
		p.failed()
		p.write("gen/a.txt", "edited\n")
		p.write("ok", "")
	}
	stale := func(p *place) {
		p.failed()
		p.write("prd.md", "changed\n")
		p.write("ok", "")
	}
	handWritten := situations()["written by hand"]
	damaged := situations()["damaged"]
	const both = "`runner build PRD-001 --resume` resumes it, `runner build PRD-001 --fresh` archives it"
	return map[string][]question{
		"runner build": {
			{"an unfinished session", (*place).failed, "build PRD-001", 2, both, true},
			{"a killed session", (*place).killed, "build PRD-001", 2, both, true},
			{"a session that waits", (*place).waiting, "build PRD-001 --yes", 2, both, true},
			{"an unfinished rollback", situations()["rolled back half-way"], "build PRD-001", 2, both, true},
			{"a document that was written by hand", handWritten, "build PRD-001", 2, both, true},
			{"a rollback first", (*place).failed, "build PRD-001 --resume=0", 2, "add --yes", true},
			{"a gate that asks", func(p *place) { p.write("ok", "") }, "build PRD-001", 3, "runner approve PRD-001 'sign-off (two)'", false},
			{"a gate that asked, with --yes", (*place).waiting, "build PRD-001 --resume --yes", 3, "runner approve PRD-001 'sign-off (two)'", false},
			{"a gate that asked, with --resume=auto", (*place).waiting, "build PRD-001 --resume=auto --yes", 3, "runner approve PRD-001 'sign-off (two)'", false},
			{"a gate that is reviewed", (*place).failed, "build PRD-001 --resume --pause-at-gates --yes --invalidate make", 3, "runner build PRD-001 --resume", false},
			{"a step that nobody knows of", uncertain, "build PRD-001 --resume --yes", 3, "runner resolve PRD-001 pay --done", false},
			{"an edited artifact", edited, "build PRD-001 --resume", 5, "--on-conflict keep", false},
			{"an edited artifact, with --yes", edited, "build PRD-001 --resume --yes", 5, "--on-conflict keep", false},
			{"a changed document", stale, "build PRD-001 --resume", 5, "--on-stale proceed", false},
			{"a changed document, with --yes", stale, "build PRD-001 --resume --yes", 5, "--on-stale proceed", false},
			{"a killed session that is gone on with", (*place).killed, "build PRD-001 --resume", 1, "was killed: how its run ended is not on record; resuming", false},
			{"a failed session that is gone on with", (*place).failed, "build PRD-001 --resume", 1, "PRD-001 failed: mend: main.go:3: ", false},
		},
		"runner abandon": {
			{"a session", (*place).failed, "abandon PRD-001", 2, "add --yes", true},
			{"what is damaged", damaged, "abandon PRD-001", 2, "add --yes", true},
		},
		"runner resolve": {
			{"a step that nobody knows of", uncertain, "resolve PRD-001 pay", 2, "one of --done, --rerun is needed", true},
		},
		"runner checkpoint delete": {
			{"a checkpoint", (*place).failed, "checkpoint delete PRD-001 latest~1", 2, "add --yes", true},
			{"a session", (*place).failed, "checkpoint delete PRD-001 --session", 2, "add --yes", true},
			{"what is damaged", damaged, "checkpoint delete PRD-001 --session", 2, "add --yes", true},
		},
		"runner checkpoint import": {
			{"in place of another session", (*place).failed, "checkpoint import ARCHIVE", 2, "--replace", true},
			{"in place of another session, with --yes", (*place).failed, "checkpoint import ARCHIVE --yes", 2, "--replace", true},
			{"in place of another session, with --replace", (*place).failed, "checkpoint import ARCHIVE --replace", 2, "add --yes", true},
			{"over files that differ", func(p *place) { p.write("notes.txt", "mine\n") }, "checkpoint import ARCHIVE --overwrite", 2, "add --yes", true},
		},
		"runner checkpoint prune": {
			{"checkpoints", (*place).failed, "checkpoint prune PRD-001 --older-than 1ns", 2, "add --yes", true},
			{"captures of another state directory", abandonedRefs, "checkpoint prune --refs-of REFS", 2, "add --yes", true},
		},
		"runner checkpoint rebuild": {
			{"a journal", damagedInTheMiddle, "checkpoint rebuild PRD-001 --journal", 2, "add --yes", true},
		},
		"runner checkpoint rollback": {
			{"state and files", (*place).failed, "checkpoint rollback PRD-001 0", 2, "add --yes", true},
			{"files", (*place).failed, "checkpoint rollback PRD-001 0 --files-only --force", 2, "add --yes", true},
			{"state", (*place).failed, "checkpoint rollback PRD-001 0 --state-only", 2, "add --yes", true},
		},
		"runner safety restore": {
			{"a safety checkpoint", changedAfterCopy, "safety restore latest", 2, "add --yes", true},
		},
		"runner safety delete": {
			{"a safety checkpoint", changedAfterCopy, "safety delete latest", 2, "add --yes", true},
		},
		"runner safety prune": {
			{"an expired safety checkpoint", changedAfterCopy, "safety prune", 2, "add --yes", true},
		},
	}
}

// inputs returns, by name, the kinds of standard input that a command has without a
// person.
func inputs() map[string]func(p *place, cmd *exec.Cmd) {
	return map[string]func(p *place, cmd *exec.Cmd){
		"closed": func(_ *place, cmd *exec.Cmd) {
			cmd.Args = append([]string{"sh", "-c", `exec "$@" <&-`}, append([]string{"sh"}, cmd.Args...)...)
			cmd.Path, cmd.Err = lookPath("sh")
		},
		"/dev/null": func(*place, *exec.Cmd) {},
		"a pipe that gives nothing": func(p *place, cmd *exec.Cmd) {
			r, w, err := os.Pipe()
			if err != nil {
				p.t.Fatal(err)
			}
			cmd.Stdin = r
			p.t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		},
		"a pipe full of yes, in CI": func(_ *place, cmd *exec.Cmd) {
			cmd.Stdin = strings.NewReader(strings.Repeat("y\na\n", 100))
			cmd.Env = append(cmd.Env, "CI=true")
		},
	}
}

func lookPath(name string) (string, error) { return exec.LookPath(name) }

// TestWithoutATerminalNothingAsksAndNothingIsAgreedTo runs every command that can ask,
// without a terminal and with each kind of input. The command must neither wait for an
// answer nor accept one, and must say how to decide. Other tools hung, or approved their
// own gates (bdfinst/agentic-dev-team 344).
func TestWithoutATerminalNothingAsksAndNothingIsAgreedTo(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "PRD-001.tar.gz")
	prepared(t, (*place).failed).run(0, "checkpoint", "export", "PRD-001", "-o", archive)
	for command, list := range questions() {
		for _, q := range list {
			t.Run(command+", "+q.name, func(t *testing.T) {
				t.Parallel()
				var p *place
				for name, input := range inputs() {
					if p == nil || !q.unchanged {
						p = prepared(t, q.situation)
					}
					q.ask(t, p, name, input, archive)
				}
			})
		}
	}
}

// ask runs the command with one kind of input, and checks its output and what it changed.
// ARCHIVE in its arguments becomes archive.
func (q question) ask(t *testing.T, p *place, name string, input func(p *place, cmd *exec.Cmd), archive string) {
	t.Helper()
	line := strings.ReplaceAll(q.args, "ARCHIVE", archive)
	if strings.Contains(line, "REFS") {
		line = strings.ReplaceAll(line, "REFS", p.read("refs-of"))
	}
	before := p.describeTree()
	cmd := p.command("runner", strings.Fields(line)...)
	input(p, cmd)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != q.code || !strings.Contains(string(out), q.says) {
		t.Errorf("%s: runner %s: exit code %d instead of %d, or the output does not contain %q\n%s", name, line, code, q.code, q.says, out)
	}
	after := p.describeTree()
	if strings.HasPrefix(line, "checkpoint import ") { // import unpacks into a directory and removes that again, which changes these times
		withoutTimes(before)
		withoutTimes(after)
	}
	if what := treeDiff(before, after); q.unchanged && len(what) > 0 {
		t.Errorf("%s: runner %s made changes without consent:\n%s", name, line, strings.Join(what, "\n"))
	}
	if strings.Contains(strings.Join(eventsOf(p), " "), "gate.approved") {
		t.Errorf("%s: runner %s approved a gate", name, line)
	}
}

// withoutTimes removes the times of the workspace and the state directory from a
// description of the files. These times change when entries are added or removed.
func withoutTimes(described map[string]string) {
	for _, name := range []string{"ws", "ws/.runner"} {
		described[name], _, _ = strings.Cut(described[name], " modified ")
		if described[name] == "" {
			delete(described, name)
		}
	}
}

// eventsOf returns the kinds of all events of the session, in order.
func eventsOf(p *place) []string {
	var kinds []string
	for _, line := range p.journal() {
		for _, e := range line.Events {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// TestEveryCommandThatCanAskIsHeldTo checks that questions has every command with the
// flag --yes, because those commands can ask.
func TestEveryCommandThatCanAskIsHeldTo(t *testing.T) {
	t.Parallel()
	for path, cmd := range leaves(commandLine(t)) {
		if cmd.Flags().Lookup("yes") != nil && len(questions()[path]) == 0 {
			t.Errorf("%s has the flag --yes and is not in the table of questions", path)
		}
	}
}

// changedAfterCopy changes a file after it was copied into a safety checkpoint, which has
// expired.
func changedAfterCopy(p *place) {
	p.write("notes.txt", "mine\n")
	p.run(0, "safety", "create", "notes.txt", "--expiry", "1ms")
	p.write("notes.txt", "changed\n")
}

// uncertain makes a session in which a workstream with the effect "once" was started and
// failed, so that a person must say whether the workstream happened.
func uncertain(p *place) {
	p.write("PRD-001.hcl", `
pipeline "PRD-001" {
  phase "one" {
    workstream "pay" {
      effect = "once"
      script = "exit 1"
    }
  }
}
`)
	p.run(3, "build", "PRD-001")
}

// damagedInTheMiddle makes a failed session whose journal has a damaged line before its
// last line.
func damagedInTheMiddle(p *place) {
	p.failed()
	const name = ".runner/PRD-001/journal.jsonl"
	lines := strings.SplitAfter(p.read(name), "\n")
	lines[len(lines)-3] = strings.Replace(lines[len(lines)-3], `"`, `'`, 1)
	p.write(name, strings.Join(lines, ""))
}

// abandonedRefs makes a git repository with captures of a state directory that was
// deleted. The file refs-of has the id of that state directory.
func abandonedRefs(p *place) {
	p.git("init", "-q")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "one")
	p.failed()
	refs := p.git("for-each-ref", "--format=%(refname)", "refs/runner")
	p.remove(".runner")
	id := refs[:strings.LastIndex(strings.TrimSpace(strings.Split(refs, "\n")[0]), "/")]
	p.write("refs-of", id[strings.LastIndex(id, "-")+1:])
	if len(p.read("refs-of")) < 8 {
		p.t.Fatal(fmt.Sprint("there is no id of a state directory in ", refs))
	}
}
