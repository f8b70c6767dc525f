package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writingPipeline records a few hundred boundaries in quick succession. Its second phase
// waits for the file go.
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

// TestReadersDuringAWriteStorm runs all reading commands again and again while a build
// writes to the journal as fast as it can. Each command must succeed, each status must be
// the state after one commit of the journal, and the build must report no error.
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
	archive := filepath.Join(t.TempDir(), "session.tar")
	readers := [][]string{
		{"status", "PRD-001", "--json"}, {"status"}, {"checkpoint", "list", "PRD-001", "--json"}, {"checkpoint", "show", "PRD-001"}, {"checkpoint", "show", "PRD-001", "latest~1"},
		{"checkpoint", "diff", "PRD-001", "latest~1", "latest"},
		{"checkpoint", "diff", "PRD-001", "latest", "workspace"}, {"checkpoint", "validate", "PRD-001", "--json"}, {"checkpoint", "validate", "PRD-001", "latest"},
		{"checkpoint", "export", "PRD-001", "-o", archive}, {"checkpoint", "rollback", "PRD-001", "latest", "--dry-run"},
		{"plan", "PRD-001", "--resume"}, {"logs", "PRD-001"},
	}
	rounds, seen := 0, []boundary{}
	for last := false; ; rounds++ {
		for _, args := range readers {
			out := run(t, dir, 0, args...)
			if !slices.Contains(args, "--json") {
				continue
			}
			var whole boundary
			if err := json.Unmarshal([]byte(out), &whole); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
			if args[0] != "status" {
				continue
			}
			if n := len(seen); n > 0 && whole.Seq < seen[n-1].Seq {
				t.Errorf("the status went back from commit %d to commit %d", seen[n-1].Seq, whole.Seq)
			}
			seen = append(seen, whole)
		}
		if last {
			break
		}
		last = strings.Contains(journalOf(t, dir), `"workstream":"WS2"`)
	}
	t.Logf("%d rounds of %d readers", rounds, len(readers))
	write(t, dir, "go")
	l.exits(0)
	if shown := l.stderr.String(); shown != "" {
		t.Errorf("the standard error of the build is %q", shown)
	}
	for _, at := range seen {
		if diff := cmp.Diff(boundaryAt(t, dir, at.Seq), at); diff != "" {
			t.Errorf("the status for commit %d differs from the journal up to there (-journal +status):\n%s", at.Seq, diff)
		}
	}
	run(t, dir, 0, "checkpoint", "validate", "PRD-001", "--deep")
}

// boundary holds the part of `status --json` that depends only on the journal.
type boundary struct {
	Seq            uint64
	Status         string
	CurrentPhase   int `json:"current_phase"`
	Phases         any
	LastCheckpoint any       `json:"last_checkpoint"`
	UpdatedAt      time.Time `json:"updated_at"`
}

// boundaryAt returns the status for the journal up to and including the commit seq.
func boundaryAt(t *testing.T, dir string, seq uint64) boundary {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(journalOf(t, dir)) {
		var c struct{ Seq uint64 }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Seq <= seq {
			kept.WriteString(line)
		}
	}
	then := newWorkspace(t, writingPipeline)
	state := filepath.Join(then, ".runner")
	path := filepath.Join(state, "PRD-001", "journal.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Join(state, "locks"), 0o700), os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(kept.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	// Without an owner of the session, status shows running workstreams as interrupted.
	shown := strings.ReplaceAll(run(t, then, 0, "status", "PRD-001", "--json"), `"interrupted"`, `"running"`)
	var at boundary
	if err := json.Unmarshal([]byte(shown), &at); err != nil {
		t.Fatal(err)
	}
	return at
}
