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

// TestRollbackOnlyRescued has a rollback whose start is only in a rescue copy of the
// journal, as if the disk had been full. The next command that changes the session must
// finish that rollback first, and then do its own work.
func TestRollbackOnlyRescued(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		args       []string
	}{
		{"build", "PRD-001 complete", []string{"build", "PRD-001", "--resume"}},
		{"build at a checkpoint", "PRD-001 complete", []string{"build", "PRD-001", "--resume=1", "--yes"}},
		{"rollback", "✓ Rolled PRD-001 back to ", []string{"checkpoint", "rollback", "PRD-001", "1", "--yes"}},
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
					t.Errorf("the output does not contain %q:\n%s", text, out)
				}
			}
		})
	}
}

// rescueRollback rolls a session back, and then removes the events of that rollback from
// the journal. It moves the start of the rollback to a rescue copy in temp, and drops the
// end.
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
		t.Fatal("the journal has no rollback")
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

// cutBefore splits data before the first line that contains the text.
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

// TestPlanOfUnfinishedRollback plans while a rollback is unfinished. The command plan
// must refuse, because the rollback will change the state. It must name the command that
// finishes the rollback.
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
			t.Errorf("the output does not contain %q:\n%s", text, out)
		}
	}
}
