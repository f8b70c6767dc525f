package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCatchUp: where the power was cut before all that is derived from the last commit
// was on disk, the next build writes it although nothing is left to be done.
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
	if _, err := lock.WriteAt([]byte(`{"pid":1,"host":"elsewhere"}`), 1); err != nil { // nobody let go of it
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, dir, 0, "build", "PRD-001", "--resume=auto")
	after, err := os.ReadFile(newest)
	if err != nil || string(after) != string(before) {
		t.Errorf("its file was %s\nand is %s (%v)", before, after, err)
	}
	if list := run(t, dir, 0, "checkpoint", "list", "PRD-001"); !strings.Contains(list, "complete") {
		t.Errorf("the checkpoints are\n%s", list)
	}
}
