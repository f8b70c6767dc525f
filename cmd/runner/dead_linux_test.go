package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/cmd/runner/info"
)

// noteChange changes the note that names the runner in a lock file.
type noteChange func(note map[string]any)

// deadNotes returns, by description, the changes that make the note of a killed runner
// one that another dead runner can leave.
func deadNotes() map[string]noteChange {
	return map[string]noteChange{
		"as it was left":                         func(map[string]any) {},
		"of before the machine was started anew": func(note map[string]any) { note["boot_id"] = "00000000-0000-0000-0000-000000000000" },
		"whose number another process has": func(note map[string]any) {
			note["pid"] = os.Getpid()
		},
		"of a container that was started anew": func(note map[string]any) { note["host"], note["pid"] = "c0ffee", 1 },
		"of a machine that was given another name, and started anew": func(note map[string]any) {
			note["host"], note["boot_id"] = "elsewhere", "00000000-0000-0000-0000-000000000000"
		},
		"that names nobody": func(note map[string]any) { clear(note) },
	}
}

// TestADeadRunnerIsNeverRunning kills a runner and changes the note in its lock file in
// each way that occurs. The session must not be shown as running, and it must be possible
// to resume and to abandon the session. In dagu, such runs were shown as running for ever
// and blocked new runs (dagu-org/dagu 1122, 1103).
func TestADeadRunnerIsNeverRunning(t *testing.T) {
	t.Parallel()
	for name, change := range deadNotes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepared(t, (*place).killed)
			p.changeNote(change)
			before := p.describeTree()
			if text := p.run(0, "status", "PRD-001"); !strings.Contains(text, "killed") || strings.Contains(text, "running  ") || strings.Contains(text, "Running:") {
				t.Errorf("the status is\n%s", text)
			}
			var status struct {
				Killed bool               `json:"killed"`
				Owner  json.RawMessage    `json:"owner"`
				Next   []string           `json:"next"`
				Counts info.StepCounts    `json:"workstreams"`
				Steps  []info.RunningStep `json:"running"`
			}
			if err := json.Unmarshal([]byte(p.run(0, "status", "PRD-001", "--json")), &status); err != nil {
				t.Fatal(err)
			}
			if status.Counts.Running > 0 || len(status.Steps) > 0 {
				t.Errorf("as JSON, workstreams are running: %+v", status)
			}
			if !status.Killed || string(status.Owner) != "null" || len(status.Next) != 1 || status.Next[0] != "runner build PRD-001 --resume" {
				t.Errorf("as JSON, the status is %+v with the owner %s", status, status.Owner)
			}
			if text := p.run(0, "status"); !strings.Contains(text, "killed") {
				t.Errorf("the status of all sessions is\n%s", text)
			}
			p.run(2, "logs", "PRD-001", "-f", "nothing")
			if what := treeDiff(before, p.describeTree()); len(what) > 0 {
				t.Errorf("commands that only read changed\n%s", strings.Join(what, "\n"))
			}
			p.run(2, "pause", "PRD-001")
			p.run(0, "checkpoint", "create", "PRD-001")
			p.changeNote(change)
			p.run(1, "build", "PRD-001", "--resume")
			var doc struct {
				Status  string   `json:"status"`
				Running []string `json:"in_progress_workstreams"`
			}
			if err := json.Unmarshal([]byte(p.read(".runner/PRD-001.json")), &doc); err != nil || doc.Status != "failed" || len(doc.Running) > 0 {
				t.Errorf("the PRD document says %+v, %v", doc, err)
			}
			p.run(0, "abandon", "PRD-001", "--yes")
		})
	}
}

// TestALiveRunnerOfAnotherMachineIsRunning changes the note of a running runner to name
// another machine. Because the runner holds its lock, status must show it as running, and
// commands that change the session must be refused.
func TestALiveRunnerOfAnotherMachineIsRunning(t *testing.T) {
	t.Parallel()
	p := prepared(t, func(p *place) { p.running() })
	p.changeNote(func(note map[string]any) { note["host"], note["pid"] = "c0ffee", 1 })
	if text := p.run(0, "status", "PRD-001"); !strings.Contains(text, "pid 1 on c0ffee") || strings.Contains(text, "killed") {
		t.Errorf("the status is\n%s", text)
	}
	for _, args := range [][]string{{"build", "PRD-001", "--resume"}, {"abandon", "PRD-001", "--yes"}, {"checkpoint", "rollback", "PRD-001", "0", "--yes"}} {
		p.run(4, args...)
	}
}

// changeNote changes the note in the lock file, if the file has one.
func (p *place) changeNote(change noteChange) {
	p.t.Helper()
	path := filepath.Join(p.ws, ".runner", "locks", "PRD-001.lock")
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	text := strings.Trim(string(data), "\x00 \n")
	if text == "" {
		return // the runner released its lock
	}
	note := map[string]any{}
	if err := json.Unmarshal([]byte(text), &note); err != nil {
		p.t.Fatalf("the note is %q: %v", text, err)
	}
	change(note)
	changed, err := json.Marshal(note)
	if err != nil {
		p.t.Fatal(err)
	}
	record := " " + string(changed) + strings.Repeat(" ", len(data)-len(changed)-2) + "\n"
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // written in place, because a runner may hold a lock on this file
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(record), 0); err != nil {
		p.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		p.t.Fatal(err)
	}
}
