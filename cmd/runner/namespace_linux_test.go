package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestARunnerInAnotherPIDNamespaceIsTheOwner: containers may share the name of a host.
// A runner in one of them is at work for as long as it holds the lock, whatever its
// number means elsewhere; and so is one outside of them for those inside.
func TestARunnerInAnotherPIDNamespaceIsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		skipUnlessCI(t, "a PID namespace needs root")
	}
	if err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		skipUnlessCI(t, "there can be no PID namespace here: "+err.Error())
	}
	inside := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	for name, wrap := range map[string]struct{ owner, other []string }{
		"the owner is inside":  {owner: inside},
		"the owner is outside": {other: inside},
		"each has its own":     {owner: inside, other: inside},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source := `pipeline "PRD-001" {
  phase "one" {
    workstream "A" { script = "touch started; until test -f go; do sleep 0.02; done" }
  }
}
`
			if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			command := func(wrap []string, args ...string) *exec.Cmd {
				words := append(append([]string{}, wrap...), "runner")
				words = append(words, args...)
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir = dir
				return cmd
			}
			owner := command(wrap.owner, "build", "PRD-001")
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			for over := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
					break
				}
				if time.Now().After(over) {
					_ = owner.Process.Kill()
					t.Fatal("the owner has started nothing")
				}
			}
			status, err := command(wrap.other, "status", "PRD-001").CombinedOutput()
			if err != nil || !strings.Contains(string(status), "Running:         A") || strings.Contains(string(status), "how it ended") {
				t.Errorf("%v: while it works, the status is\n%s", err, status)
			}
			beside := command(wrap.other, "build", "PRD-001", "--resume")
			refused, _ := beside.CombinedOutput()
			if code := beside.ProcessState.ExitCode(); code != exitLocked {
				t.Errorf("exit code %d of a build beside it:\n%s", code, refused)
			}
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := owner.Wait(); err != nil {
				t.Errorf("the owner: %v", err)
			}
			status, err = command(wrap.other, "status", "PRD-001").CombinedOutput()
			if err != nil || !strings.Contains(string(status), "complete") {
				t.Errorf("%v: afterwards, the status is\n%s", err, status)
			}
		})
	}
}
