package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWatchARunGoOn: a terminal on which the run of another process is watched shows what waits, how long the run
// still takes, each workstream when it starts and when it ends, and the end. If the file of the pipeline has changed
// since the run read it, the terminal shows what is on record, and claims nothing more.
func TestWatchARunGoOn(t *testing.T) {
	t.Parallel()
	const source = `
variable "who" { type = string }

pipeline "PRD-001" {
  phase "one" {
    workstream "first" { script = "true" }
    workstream "second" {
      script     = "test ! -e wait || until test -e go-second; do sleep 0.02; done; : ${var.who}"
      depends_on = [workstream.first]
    }
    workstream "third" {
      script     = "test ! -e wait || until test -e go-third; do sleep 0.02; done"
      depends_on = [workstream.second]
    }
  }

  phase "two" {
    workstream "fourth" { script = "true" }
  }
}
`
	dir := newWorkspace(t, source)
	run(t, dir, 0, "build", "PRD-001", "--var", "who=you")
	write(t, dir, "wait")
	build := launch(t, dir, "build", "PRD-001", "--fresh", "--parallel", "4", "--var", "who=you")
	x := openTerminal(t, dir, 100)
	await(t, "the second workstream runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, ".runner", "PRD-001", "logs", "second.1.log"))
		return err == nil
	})
	x.tmux("send-keys", "clear; runner watch PRD-001; echo exit $?", "Enter")
	got := x.showing("So far: 1 done", "● second", "a few seconds left", "waiting: third for second", "○ two")

	if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(source+"# changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	y := openTerminal(t, dir, 100)
	y.tmux("send-keys", "clear; runner watch PRD-001; echo exit $?", "Enter")
	if shown := y.showing("So far: 1 done", "● second", "○ two"); strings.Contains(shown, "waiting:") {
		t.Errorf("the pipeline has changed, and what waits by it is shown:\n%s", shown)
	}

	write(t, dir, "go-second")
	got += "-- another one --\n" + x.showing("Phase 1 of 2", "✓ second", "● third", "2 of 3")
	write(t, dir, "go-third")
	x.showing("✓ third", "✓ phase one", "✓ fourth", "✓ PRD-001 complete", "exit 0")
	y.showing("✓ PRD-001 complete", "exit 0")
	build.exits(0)
	compareScreens(t, "watch", got)
}
