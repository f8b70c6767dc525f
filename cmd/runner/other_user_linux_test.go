package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAStepOfAnotherUserIsNotStartedTwice kills a runner whose workstream has started a
// process of another user with setpriv. That process survives, and Runner can't inspect
// it. While the process lives, the next build must start nothing and name the log that
// the process has open. Once the process has ended, the build must complete.
func TestAStepOfAnotherUserIsNotStartedTwice(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		skipUnlessCI(t, "to start a process of another user needs root")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		skipUnlessCI(t, "there is no setpriv: "+err.Error())
	}
	dir := t.TempDir()
	source := `pipeline "PRD-001" {
  phase "one" {
    workstream "A" {
      script = "echo A >> ran; test -f done || setpriv --reuid 65534 --clear-groups sh -c 'echo $$; exec sleep 300'"
    }
  }
}
`
	if err := os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(args ...string) *exec.Cmd {
		cmd := exec.Command("runner", append([]string{"build", "PRD-001"}, args...)...)
		cmd.Dir = dir
		return cmd
	}
	first := build()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for over := time.Now().Add(20 * time.Second); pid == 0; time.Sleep(10 * time.Millisecond) {
		log, err := os.ReadFile(filepath.Join(dir, ".runner", "PRD-001", "logs", "A.1.log"))
		if err == nil && strings.HasSuffix(string(log), "\n") {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(log)))
		}
		if time.Now().After(over) {
			_ = first.Process.Kill()
			t.Fatal("the workstream has not started")
		}
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	again := build("--resume")
	out, _ := again.CombinedOutput()
	if code := again.ProcessState.ExitCode(); code != exitDamaged || !strings.Contains(string(out), "a process of another user") || !strings.Contains(string(out), "A.1.log") {
		t.Errorf("while the process lives, the build has exit code %d, want %d:\n%s", code, exitDamaged, out)
	}
	if ran, _ := os.ReadFile(filepath.Join(dir, "ran")); string(ran) != "A\n" {
		t.Errorf("the workstream ran again: %q", ran)
	}

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "done"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code := -1
	for range 100 { // until the killed process is gone
		last := build("--resume")
		out, _ = last.CombinedOutput()
		if code = last.ProcessState.ExitCode(); code == exitComplete {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if code != exitComplete {
		t.Errorf("after the process has ended, the build has exit code %d, want %d:\n%s", code, exitComplete, out)
	}
}
