package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRollbackOnlyRescued: the disk was full when a rollback began, so that
// only the rescue copy knows of it. Whatever changes the session next finishes
// it before anything is decided or planned, and then does what it was asked.
func TestRollbackOnlyRescued(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		args       []string
	}{
		{"build", "PRD-001 complete", []string{"build", "PRD-001", "--resume"}},
		{"build at a checkpoint", "PRD-001 complete", []string{"build", "PRD-001", "--resume=1", "--yes"}},
		{"rollback", "ROLLBACK COMPLETE", []string{"checkpoint", "rollback", "PRD-001", "1", "--yes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, temp := unfinished(t), t.TempDir()
			write(t, dir, "ok")
			run(t, dir, 0, "build", "PRD-001", "--resume")
			rescueRollback(t, dir, temp)
			cmd := exec.CommandContext(t.Context(), "runner", tt.args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temp)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, text := range []string{"was cut short; finishing it first", "Rolled back to CP-", tt.want} {
				if !strings.Contains(string(out), text) {
					t.Errorf("%q is missing from\n%s", text, out)
				}
			}
		})
	}
}

// rescueRollback rolls a session back, and then takes from the journal what
// that wrote into it: its beginning goes into a rescue copy, its end is lost.
func rescueRollback(t *testing.T, dir, temp string) {
	t.Helper()
	state := filepath.Join(dir, ".runner")
	journal := filepath.Join(state, "PRD-001", "journal.jsonl")
	derived := []string{filepath.Join(state, "PRD-001.json"), filepath.Join(state, "PRD-001", "manifest.json")}
	before := make([][]byte, len(derived))
	for i, path := range derived {
		before[i] = read(t, path)
	}
	run(t, dir, 0, "checkpoint", "rollback", "PRD-001", "1", "--yes")
	kept, rest, ok := cutBefore(read(t, journal), `"rollback.started"`)
	begun, _, completed := cutBefore(rest, `"rollback.completed"`)
	if !ok || !completed {
		t.Fatal("the journal tells of no rollback")
	}
	for i, path := range derived {
		replace(t, path, before[i])
	}
	replace(t, journal, kept)
	var st struct{ Session string }
	if err := json.Unmarshal([]byte(run(t, dir, 0, "status", "PRD-001", "--json")), &st); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(temp, "runner-rescue-PRD-001-"+st.Session+".jsonl"), begun)
}

// cutBefore cuts lines before the first one that holds a text.
func cutBefore(data []byte, text string) (before, from []byte, found bool) {
	at := bytes.Index(data, []byte(text))
	if at < 0 {
		return data, nil, false
	}
	begin := bytes.LastIndexByte(data[:at], '\n') + 1
	return data[:begin], data[begin:], true
}

func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPlanOfUnfinishedRollback: where a session stands that a rollback is
// about to leave is nothing to plan from.
func TestPlanOfUnfinishedRollback(t *testing.T) {
	t.Parallel()
	dir, temp := unfinished(t), t.TempDir()
	rescueRollback(t, dir, temp)
	journal := filepath.Join(dir, ".runner", "PRD-001", "journal.jsonl")
	rescued, err := filepath.Glob(filepath.Join(temp, "runner-rescue-*.jsonl"))
	if err != nil || len(rescued) != 1 {
		t.Fatal(rescued, err)
	}
	replace(t, journal, append(read(t, journal), read(t, rescued[0])...))
	out := run(t, dir, 5, "plan", "PRD-001", "--resume")
	for _, text := range []string{" is not finished", "`runner build PRD-001 --resume` finishes it"} {
		if !strings.Contains(out, text) {
			t.Errorf("%q is missing from\n%s", text, out)
		}
	}
}
