package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCatchUp simulates a power cut after the last commit: the newest checkpoint file is
// missing and the lock file still names the runner. The next build must write the
// checkpoint file again, although no workstream is left to run.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { command = ["true"] }
  }
}`)
	run(t, dir, 0, "build", "PRD-001")
	latest := filepath.Join(dir, ".runner/PRD-001/latest")
	newest, err := os.Readlink(latest)
	if err != nil {
		t.Fatal(err)
	}
	newest = filepath.Join(filepath.Dir(latest), newest)
	before, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".runner/locks/PRD-001.lock"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.WriteAt([]byte(`{"pid":1,"host":"elsewhere"}`), 1); err != nil { // as a runner leaves the lock file when the power is cut
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, dir, 0, "build", "PRD-001", "--resume=auto")
	after, err := os.ReadFile(newest)
	if err != nil || string(after) != string(before) {
		t.Errorf("the checkpoint file was %s\nand is %s (%v)", before, after, err)
	}
	if list := run(t, dir, 0, "checkpoint", "list", "PRD-001"); !strings.Contains(list, "complete") {
		t.Errorf("the list of checkpoints does not say complete:\n%s", list)
	}
}
