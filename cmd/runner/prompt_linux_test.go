package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Keys that the terminal handles itself.
const (
	ctrlC = "\x03" // sends SIGINT
	ctrlD = "\x04" // the end of input
)

const unfinishedPipeline = `
pipeline "PRD-001" {
  title = "Try it"
  phase "one" {
    workstream "WS1" { script = "echo ran >> count.txt" }
  }
  phase "two" {
    workstream "WS2" { script = "test -f ok || { echo main.go:3: no; exit 1; }" }
  }
}`

const approvalPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { command = ["true"] }
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }
}`

const slowPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { script = "echo $$ > pid; while :; do sleep 0.05; done" }
  }
}`

// newWorkspace returns a new directory with the pipeline as PRD-001.hcl.
func newWorkspace(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNoPromptInTheBackground starts a build as a background job of a terminal, where a
// read from the terminal would stop the process. The build must not ask, but end with the
// exit code of a paused session.
func TestNoPromptInTheBackground(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `set -m; runner build PRD-001 & wait $!; echo "it ended with $?"`)
	cmd.Dir = newWorkspace(t, approvalPipeline)
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir)
	s := startAtTerminal(t, cmd)
	s.expect("waits for approval")
	s.expect("it ended with 3")
}

// unfinished returns a workspace with a session that failed in its second phase.
func unfinished(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t, unfinishedPipeline)
	run(t, dir, 1, "build", "PRD-001")
	return dir
}

// run runs runner without a terminal, checks its exit code, and returns its output.
func run(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "runner", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("runner %s: exit code %d instead of %d (%v)\n%s", strings.Join(args, " "), got, want, err, out)
	}
	return string(out)
}

func write(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// archived returns the number of sessions under failed/.
func archived(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, ".runner", "failed"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

func TestResumePrompt(t *testing.T) {
	t.Parallel()
	t.Run("view and resume", func(t *testing.T) {
		t.Parallel()
		dir := unfinished(t)
		write(t, dir, "ok")
		s := atTerminal(t, dir, "build", "PRD-001")
		for _, text := range []string{
			`Found existing checkpoint for "Try it"`, "Created: ", "Progress: Phase 1 of 2 completed",
			"Failed: WS2: main.go:3: ", "(r)esume - Continue from WS2 in Phase 2: two (2 workstreams: 1 reuse, 1 run)", "(s)tart fresh", "(v)iew details", "(d)elete", "(p)lan - Show what (r)esume would do", "Choice [r/s/v/d/p]: ",
		} {
			s.expect(text)
		}
		s.send("x\n")
		s.expect("Please type one of r, s, v, d, p, and Enter.")
		s.send("v\n")
		s.expect("WS2")
		s.expect("Checkpoint CP-")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send("r\n")
		s.expect("Resuming PRD-001 from Phase 2")
		s.expect("PRD-001 complete")
		s.exits(0)
	})
	t.Run("the plan begins before the phase that was reached", func(t *testing.T) {
		t.Parallel()
		dir := unfinished(t)
		changed := strings.Replace(unfinishedPipeline, "echo ran", "echo ran again", 1)
		if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "ok")
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("(r)esume - Continue from WS1 in Phase 1: one (2 workstreams: 1 run, 1 rerun)")
		s.send("p\n")
		s.expect("rerun  WS1")
		s.expect("definition changed")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send("r\n")
		s.expect("Resuming PRD-001 from Phase 1")
		s.expect("PRD-001 complete")
		s.exits(0)
	})
	t.Run("view what is damaged", func(t *testing.T) {
		t.Parallel()
		dir := unfinished(t)
		write(t, dir, "ok")
		checkpoints, err := filepath.Glob(filepath.Join(dir, ".runner", "PRD-001", "checkpoints", "*"))
		if err != nil || len(checkpoints) == 0 {
			t.Fatal(checkpoints, err)
		}
		for _, path := range checkpoints {
			write(t, filepath.Dir(path), filepath.Base(path))
		}
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send("v\n")
		s.expect("Checkpoint damaged")
		s.expect("runner checkpoint rebuild PRD-001 CP-")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send("r\n")
		s.expect("PRD-001 complete")
		s.exits(0)
	})
	t.Run("start fresh", func(t *testing.T) {
		t.Parallel()
		dir := unfinished(t)
		write(t, dir, "ok")
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send("s\n")
		s.expect("PRD-001 complete")
		s.exits(0)
		if n := archived(t, dir); n != 1 {
			t.Errorf("%d sessions are archived, want 1", n)
		}
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		dir := unfinished(t)
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send("d\n")
		s.expect("This cannot be undone. [y/N]: ")
		s.send("y\n")
		s.expect("Deleted the session of PRD-001")
		s.exits(0)
		run(t, dir, 2, "status", "PRD-001")
		if n := archived(t, dir); n != 0 {
			t.Errorf("%d sessions are archived, want none", n)
		}
	})
	t.Run("end of input", func(t *testing.T) {
		t.Parallel()
		dir := unfinished(t)
		before := journalOf(t, dir)
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("Choice [r/s/v/d/p]: ")
		s.send(ctrlD)
		s.exits(2)
		if after := journalOf(t, dir); after != before {
			t.Error("the session was changed although the prompt got no answer")
		}
	})
}

func journalOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, ".runner", "PRD-001", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestResumeOfAFailedSession(t *testing.T) {
	t.Parallel()
	dir := unfinished(t)
	s := atTerminal(t, dir, "build", "PRD-001", "--resume")
	s.expect("PRD-001 failed: WS2: main.go:3: ")
	s.expect("Is it fixed? Resume? [Y/n]: ")
	s.send("n\n")
	s.expect("declined")
	s.exits(2)
	s = atTerminal(t, dir, "build", "PRD-001", "--resume")
	s.expect("Is it fixed? Resume? [Y/n]: ")
	s.send(ctrlD)
	s.exits(2)

	write(t, dir, "ok")
	s = atTerminal(t, dir, "build", "PRD-001", "--resume")
	s.expect("[Y/n]: ")
	s.send("\n")
	s.expect("PRD-001 complete")
	s.exits(0)
}

func TestResumeOfAKilledSession(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, slowPipeline)
	s := atTerminal(t, dir, "build", "PRD-001")
	s.expect("1 running")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.exits(-1)

	s = atTerminal(t, dir, "build", "PRD-001", "--resume")
	s.expect("PRD-001 was killed: how its run ended is not on record.")
	s.expect("(c)ontinue, (s)tart over, (q)uit: ")
	s.send("q\n")
	s.exits(2)

	s = atTerminal(t, dir, "build", "PRD-001", "--resume")
	s.expect("(q)uit: ")
	s.send("c\n")
	s.expect("1 running")
	s.send(ctrlC)
	s.expect("PRD-001 interrupted by SIGINT")
	s.exits(130)
}

// TestCtrlCAtTheFirstQuestion types Ctrl+C where a build asks what to do with an unfinished session. Nothing has
// happened then, so the build must name no command that does the rest.
func TestCtrlCAtTheFirstQuestion(t *testing.T) {
	t.Parallel()
	dir := unfinished(t)
	before := run(t, dir, 0, "status", "PRD-001", "--json")
	for _, keys := range [][]string{{ctrlC}, {"d\n", ctrlC}} {
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("Choice [r/s/v/d/p]: ")
		for i, key := range keys {
			if i > 0 {
				s.expect("This cannot be undone.")
			}
			s.send(key)
		}
		s.expect("Interrupted by SIGINT: nothing was started, and the session has not changed\r\n")
		s.exits(exitInterrupted)
	}
	if after := run(t, dir, 0, "status", "PRD-001", "--json"); after != before {
		t.Errorf("the status is\n%s\nand was\n%s", after, before)
	}
}

func TestApprovalPrompt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys string
		code int
	}{
		"approve":      {"y\n", 0},
		"whole word":   {"yes\n", 0},
		"later":        {"l\n", 3},
		"end of input": {ctrlD, 3},
		"reject":       {"n\nnot yet\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := atTerminal(t, newWorkspace(t, approvalPipeline), "build", "PRD-001")
			s.expect("Ship it?")
			s.expect("(y)es, (n)o, (d)ifference, (v)iew details, (l)ater: ")
			s.send(tt.keys)
			s.exits(tt.code)
		})
	}
	t.Run("approve with inputs", func(t *testing.T) {
		t.Parallel()
		dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { command = ["true"] }
    gate "sign-off" {
      approval {
        message = "Ship it?"
        input "pages" {
          type        = number
          description = "how many"
        }
      }
    }
  }
  phase "two" {
    workstream "WS2" { script = "echo ${gate.sign-off.inputs.pages + 1} > pages" }
  }
}`)
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("(l)ater: ")
		s.send("y\n")
		s.expect("pages - how many (NUMBER): ")
		s.send("few\n")
		s.expect("pages is a number")
		s.expect("pages - how many (NUMBER): ")
		s.send("4\n")
		s.exits(0)
		if text, err := os.ReadFile(filepath.Join(dir, "pages")); string(text) != "5\n" {
			t.Errorf("%q, %v", text, err)
		}
	})
	t.Run("answered from beside", func(t *testing.T) {
		t.Parallel()
		dir := newWorkspace(t, approvalPipeline)
		s := atTerminal(t, dir, "build", "PRD-001")
		s.expect("(l)ater: ")
		run(t, dir, 0, "approve", "PRD-001")
		s.expect("PRD-001 complete")
		s.exits(0)
	})
	t.Run("yes is no approval", func(t *testing.T) {
		t.Parallel()
		s := atTerminal(t, newWorkspace(t, approvalPipeline), "build", "PRD-001", "--yes")
		s.expect("(l)ater: ")
		s.send("l\n")
		s.exits(3)
	})
}

// judgedPipeline has an approval whose phase changes files, sets metrics and has other gates.
const judgedPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { command = ["true"] }
  }
  phase "two" {
    workstream "WS2" {
      script    = <<-EOT
        echo built >> notes.txt
        seq 100 > long.txt
        printf 'metric.coverage=84.5\nlocation=eu\n' >> $RUNNER_OUTPUT
        echo was here
      EOT
      artifacts = ["long.txt"]
      gate "there" { command = ["test", "-s", "long.txt"] }
    }
    gate "sign-off" {
      approval { message = "Ship it?" }
    }
  }
}`

// TestApprovalPromptShowsWhatIsJudged looks at everything that the prompt shows before it answers.
func TestApprovalPromptShowsWhatIsJudged(t *testing.T) {
	t.Parallel()
	const asks = "(y)es, (n)o, (d)ifference, (v)iew details, (l)ater: "
	dir := newWorkspace(t, judgedPipeline)
	for name, text := range map[string]string{"notes.txt": "first\n", "runner.yaml": "workspace: { include: [notes.txt] }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := atTerminal(t, dir, "build", "PRD-001")
	for _, text := range []string{
		"sign-off (two) waits for approval", "Ship it?", "Files:", "1 added, 1 modified, +101 −0 lines since", "CP-one-", "(before two began)",
		"Metrics:", "coverage 84.5", "Gates:", "there (WS2) passed", asks,
	} {
		s.expect(text)
	}
	s.send("d\n")
	for _, text := range []string{
		"since CP-one-", "+ long.txt (new, +100 −0)", "~ notes.txt (modified, +1 −0)", "+++ ", "+14", "lines more: `runner checkpoint diff PRD-001 CP-one-", "workspace --files`", asks,
	} {
		s.expect(text)
	}
	s.send("v\n")
	for _, text := range []string{
		"What sign-off (two) judges", "Approvers:", "anyone", "Until:", "no limit", "Workstreams:", "WS2", "completed", "artifacts: long.txt (292 B)",
		"Commands:", "runner checkpoint diff PRD-001 CP-one-", "runner logs PRD-001 WS2", "runner approve PRD-001 'sign-off (two)'", "runner reject PRD-001 'sign-off (two)' -m REASON", asks,
	} {
		s.expect(text)
	}
	s.send("l\n")
	s.expect("To answer later: runner approve PRD-001 'sign-off (two)'")
	s.exits(3)
	run(t, dir, 0, "approve", "PRD-001")
	run(t, dir, 0, "build", "PRD-001", "--resume")
}

func TestAbandonPrompt(t *testing.T) {
	t.Parallel()
	dir := unfinished(t)
	s := atTerminal(t, dir, "abandon", "PRD-001")
	s.expect("Give the session of PRD-001 up (Phase 1 of 2 completed)? It is archived; to resume it later, export and import it. [y/N]: ")
	s.send("n\n")
	s.exits(2)
	s = atTerminal(t, dir, "abandon", "PRD-001")
	s.expect("[y/N]: ")
	s.send("y\n")
	s.expect("Abandoned PRD-001")
	s.exits(0)
	if n := archived(t, dir); n != 1 {
		t.Errorf("%d sessions are archived, want 1", n)
	}
}

// TestInitAsks: on a terminal, init writes a pipeline for a project only if the user agrees. Otherwise it writes the example.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"y\n": "for make (Makefile)", "n\n": "an example that explains the language"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("all:\n\ttrue\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := atTerminal(t, dir, "init", "PRD-001")
		s.expect("Write a pipeline for make (Makefile)? Without it, Runner writes an example that explains the language.")
		s.send(answer)
		s.expect("wrote PRD-001.hcl, " + want)
		s.exits(0)
		run(t, dir, 0, "validate", "PRD-001")
	}
}

// TestOnePromptAtATime: while an approval is asked, another one that is due waits, and the answer is
// for the one that was asked.
func TestOnePromptAtATime(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      command = ["true"]
      gate "first" {
        approval { message = "First?" }
      }
    }
    workstream "b" {
      script = "until test -e go; do sleep 0.02; done"
      gate "second" {
        approval { message = "Second?" }
      }
    }
  }
}`)
	s := atTerminal(t, dir, "build", "PRD-001")
	s.expect("First?")
	s.expect("(l)ater: ")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the second approval is due", func() bool {
		status := exec.CommandContext(t.Context(), "runner", "-C", dir, "status", "PRD-001")
		out, _ := status.Output()
		return strings.Contains(string(out), "Second?")
	})
	s.send("y\n")
	s.expect("first (a) approved")
	s.expect("Second?")
	s.expect("(l)ater: ")
	s.send("n\n")
	s.expect("Why")
	s.send("not yet\n")
	s.expect("second (b) rejected")
	s.exits(1)
}

// TestTypedBeforeAQuestion: what was typed before a question was there is no answer to it.
func TestTypedBeforeAQuestion(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      script = "until test -e go; do sleep 0.02; done"
      gate "ship" {
        approval { message = "Ship it?" }
      }
    }
  }
}`)
	s := atTerminal(t, dir, "build", "PRD-001", "--output", "plain")
	s.expect("Phase 1 of 1")
	s.send("y\n")
	s.expect("y\r\n") // the terminal has it
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.expect("(l)ater: ")
	s.send("l\n")
	s.expect("waiting for an approval of ship (a)")
	s.exits(3)
}

// TestReviewThatWasNotAsked puts off a review at the terminal while another one is due. The run
// must stop for both, as it does without a terminal, and judge what comes after each.
func TestReviewThatWasNotAsked(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "a" {
      command = ["true"]
      gate "first" {
        pause   = true
        command = ["true"]
      }
    }
    workstream "b" {
      script = "until test -e go; do sleep 0.02; done"
      gate "second" {
        pause   = true
        command = ["true"]
      }
      gate "third" { command = ["touch", "judged"] }
    }
  }
}`)
	s := atTerminal(t, dir, "build", "PRD-001", "--parallel", "4")
	s.expect("Continue after first (a)?")
	s.expect("(l)ater: ")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the second review is due", func() bool { return strings.Contains(journalOf(t, dir), `"gate":"second (b)","definition"`) })
	s.send("l\n")
	s.expect("stopped for review after first (a) and second (b)")
	s.exits(3)
	if _, err := os.Stat(filepath.Join(dir, "judged")); err != nil {
		t.Error("what comes after the second review was not judged: ", err)
	}
}
