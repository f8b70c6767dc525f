package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestARunnerInAnotherPIDNamespaceIsTheOwner runs a build and further commands in
// different PID namespaces, as in containers that share a host name. While the build
// holds the lock, the other commands must show the build as running and must not start a
// second one, although the process id of the build means another process to them.
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
    workstream "A" { script = "until test -f go; do sleep 0.02; done" }
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
			t.Cleanup(func() { _ = owner.Process.Kill() })
			var status []byte
			var err error
			await(t, "the status shows that the workstream of the first build runs", func() bool {
				status, err = command(wrap.other, "status", "PRD-001").CombinedOutput()
				return err == nil && regexp.MustCompile(`Running: +A`).Match(status)
			})
			if strings.Contains(string(status), "killed") {
				t.Errorf("while the first build runs, the status is\n%s", status)
			}
			beside := command(wrap.other, "build", "PRD-001", "--resume")
			refused, _ := beside.CombinedOutput()
			if code := beside.ProcessState.ExitCode(); code != exitLocked {
				t.Errorf("exit code %d of a second build during the first one, want %d:\n%s", code, exitLocked, refused)
			}
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := owner.Wait(); err != nil {
				t.Errorf("the first build failed: %v", err)
			}
			status, err = command(wrap.other, "status", "PRD-001").CombinedOutput()
			if err != nil || !strings.Contains(string(status), "complete") {
				t.Errorf("%v: after the first build, the status is\n%s", err, status)
			}
		})
	}
}
