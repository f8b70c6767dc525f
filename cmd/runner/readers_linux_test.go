package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// writingPipeline records a few hundred boundaries as fast as it can, and then
// waits.
const writingPipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "many" {
      for_each = toset([for i in range(300) : tostring(i)])
      command  = ["sleep", "0.02"]
    }
  }
  phase "two" {
    workstream "WS2" { script = "until test -e go; do sleep 0.02; done" }
  }
}`

// TestReadersDuringAWriteStorm: whoever reads while a run writes as fast as it
// can sees something whole each time, and no error; and the run notices nothing.
func TestReadersDuringAWriteStorm(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, writingPipeline)
	l := launch(t, dir, "build", "PRD-001")
	await(t, "there is a session", func() bool {
		cmd := exec.CommandContext(t.Context(), "runner", "checkpoint", "list", "PRD-001", "--json")
		cmd.Dir = dir
		out, err := cmd.Output()
		return err == nil && strings.Contains(string(out), `"id"`)
	})
	readers := [][]string{
		{"status", "PRD-001", "--json"}, {"status"}, {"checkpoint", "list", "PRD-001", "--json"}, {"checkpoint", "show", "PRD-001", "0"},
		{"checkpoint", "diff", "PRD-001", "0"}, {"checkpoint", "validate", "PRD-001", "--json"}, {"plan", "PRD-001", "--resume"}, {"logs", "PRD-001"},
	}
	rounds, seen := 0, 0
	for last := false; ; rounds++ {
		for _, args := range readers {
			out := run(t, dir, 0, args...)
			if !slices.Contains(args, "--json") {
				continue
			}
			var whole struct{ Seq int }
			if err := json.Unmarshal([]byte(out), &whole); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
			if args[0] == "status" && whole.Seq < seen {
				t.Errorf("the state went back from commit %d to %d", seen, whole.Seq)
			}
			seen = max(seen, whole.Seq)
		}
		if last {
			break
		}
		last = strings.Contains(journal(t, dir), `"workstream":"WS2"`)
	}
	t.Logf("%d rounds of %d readers", rounds, len(readers))
	write(t, dir, "go")
	l.exits(0)
	if shown := l.stderr.String(); shown != "" {
		t.Errorf("the run said %q", shown)
	}
	run(t, dir, 0, "checkpoint", "validate", "PRD-001", "--deep")
}
