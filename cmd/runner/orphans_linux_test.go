package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOrphanIsEndedBeforeAnythingStarts: however a process has got away from its
// runner, the next command that would change something finds it by its session,
// and nothing starts while it is alive.
func TestOrphanIsEndedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	const orphan = `sh -c 'echo $$ > orphan.tmp; mv orphan.tmp orphan; while :; do sleep 0.02; done'`
	for name, leave := range map[string]string{
		"child":                  orphan + " &",
		"new session":            "setsid " + orphan + " &",
		"double fork":            "(setsid " + orphan + " &) &",
		"closed descriptors":     "setsid " + orphan + " < /dev/null > /dev/null 2>&1 &",
		"ignores SIGTERM":        `setsid sh -c 'trap "" TERM; echo $$ > orphan.tmp; mv orphan.tmp orphan; while :; do sleep 0.02; done' &`,
		"stopped":                `setsid sh -c 'echo $$ > orphan.tmp; mv orphan.tmp orphan; kill -STOP $$' &`,
		"little environment":     `setsid env -i RUNNER_SESSION="$RUNNER_SESSION" PATH="$PATH" ` + orphan + " &",
		"cleared environment":    `setsid env -i PATH="$PATH" ` + orphan + " &",
		"cleared, with errors":   `setsid env -i PATH="$PATH" ` + orphan + " > /dev/null &",
		"elsewhere":              `here=$PWD; (cd / && exec setsid sh -c 'echo $$ > "$0/orphan.tmp"; mv "$0/orphan.tmp" "$0/orphan"; while :; do sleep 0.02; done' "$here") &`,
		"child of one that left": "setsid sh -c \"" + strings.ReplaceAll(strings.ReplaceAll(orphan, `$`, `\$`), `"`, `\"`) + "; echo\" &",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, escapePipeline)
			replace(t, dir+"/escape.sh", []byte(leave+"\nuntil test -e orphan; do sleep 0.01; done\necho > ready\nwait\nsleep 300\n"))
			l := launch(t, dir, "build", "PRD-001")
			awaitFile(t, dir, "ready")
			pid := awaitPID(t, dir, "orphan")
			t.Cleanup(func() {
				if isAlive(pid) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			l.signal(syscall.SIGKILL)
			l.exits(-1)
			if name != "child" && !isAlive(pid) {
				t.Fatal("it died with its runner, and the test proves nothing")
			}
			if shown := launch(t, dir, "status", "PRD-001"); name != "child" {
				shown.exits(0)
				if want := fmt.Sprintf("(pid %d)", pid); !strings.Contains(shown.stdout.String(), "Still running:") || !strings.Contains(shown.stdout.String(), want) {
					t.Errorf("the status does not tell of %s:\n%s", want, shown.stdout.String())
				}
			}
			reader := readLog(t, dir)
			replace(t, dir+"/escape.sh", []byte("kill -0 $(cat orphan) 2> /dev/null && ! grep -q '^State:.Z' /proc/$(cat orphan)/status && echo > together; exit 0\n"))
			l = launch(t, dir, "build", "PRD-001", "--resume")
			said := l.exits(0)
			if isAlive(pid) {
				t.Error("it is alive")
			}
			if !isAlive(reader) {
				t.Error("who read a log was ended, too")
			}
			if lines(t, dir, "together") != 0 {
				t.Error("work began while it was alive")
			}
			if want := "Ended what a killed run had left running (pid "; !strings.Contains(said, want) || !strings.Contains(said, fmt.Sprint(pid)) {
				t.Errorf("pid %d was ended, and it says %q", pid, said)
			}
			if shown := l.stdout.String(); !strings.Contains(shown, "left behind") {
				t.Errorf("it shows %q", shown)
			}
		})
	}
}

// readLog starts a process that reads a log, as people do.
func readLog(t *testing.T, dir string) (pid int) {
	t.Helper()
	log, err := os.Open(filepath.Join(dir, ".runner", "PRD-001", "logs", "WS1.1.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("sleep", "300")
	cmd.Stdin, cmd.Stdout = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return cmd.Process.Pid
}

const escapePipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" { command = ["sh", "escape.sh"] }
  }
}`

// TestStatusAfterAKillSaysWhatIsUncertain: what must happen only once and was cut
// off by a kill is uncertain as soon as somebody looks, and can be decided at once.
func TestStatusAfterAKillSaysWhatIsUncertain(t *testing.T) {
	t.Parallel()
	for answer, sent := range map[string]int{"--done": 1, "--rerun": 2} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, `
pipeline "PRD-001" {
  phase "one" {
    workstream "WS1" {
      effect = "once"
      script = "echo sent >> sent; test -e again && exit 0; echo > ready; sleep 300"
    }
  }
}`)
			l := launch(t, dir, "build", "PRD-001")
			awaitFile(t, dir, "ready")
			refused := launch(t, dir, "resolve", "PRD-001", "WS1", answer)
			if said := refused.exits(2); !strings.Contains(said, "once the run has ended") {
				t.Errorf("while it runs it says %q", said)
			}
			l.signal(syscall.SIGKILL)
			l.exits(-1)
			status := launch(t, dir, "status", "PRD-001")
			status.exits(0)
			for _, want := range []string{"uncertain", "runner resolve PRD-001 WS1 --done", "runner resolve PRD-001 WS1 --rerun"} {
				if !strings.Contains(status.stdout.String(), want) {
					t.Errorf("no %q in\n%s", want, status.stdout.String())
				}
			}
			replace(t, dir+"/again", nil)
			launch(t, dir, "resolve", "PRD-001", "WS1", answer).exits(0)
			launch(t, dir, "build", "PRD-001", "--resume").exits(0)
			if n := lines(t, dir, "sent"); n != sent {
				t.Errorf("it was sent %d times, not %d", n, sent)
			}
		})
	}
}
