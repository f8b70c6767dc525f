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

// TestOrphanIsEndedBeforeAnythingStarts kills a runner whose workstream has started a
// process that detached itself in one of several ways. The status must name the process,
// and the next build must end the process before a workstream starts. A process of the
// user that only reads a log must survive.
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
				t.Fatal("the orphan died with its runner: this case proves nothing")
			}
			if shown := launch(t, dir, "status", "PRD-001"); name != "child" {
				shown.exits(0)
				if want := fmt.Sprintf("(pid %d)", pid); !strings.Contains(shown.stdout.String(), "Still running:") || !strings.Contains(shown.stdout.String(), want) {
					t.Errorf("the status does not name the orphan %s:\n%s", want, shown.stdout.String())
				}
			}
			reader := readLog(t, dir)
			replace(t, dir+"/escape.sh", []byte("kill -0 $(cat orphan) 2> /dev/null && ! grep -q '^State:.Z' /proc/$(cat orphan)/status && echo > together; exit 0\n"))
			l = launch(t, dir, "build", "PRD-001", "--resume")
			said := l.exits(0)
			if isAlive(pid) {
				t.Error("the orphan is alive after the build")
			}
			if !isAlive(reader) {
				t.Error("the build ended a process that only reads a log")
			}
			if lines(t, dir, "together") != 0 {
				t.Error("the workstream started while the orphan was alive")
			}
			if want := "Ended what a killed run had left running (pid "; !strings.Contains(said, want) || !strings.Contains(said, fmt.Sprint(pid)) {
				t.Errorf("the build ended pid %d, but its standard error is %q", pid, said)
			}
			if shown := l.stdout.String(); !strings.Contains(shown, "left behind") {
				t.Errorf("the output of the build does not say %q: %q", "left behind", shown)
			}
		})
	}
}

// readLog starts a process that has the log of WS1 open, as a user's pager does.
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

// TestStatusAfterAKillSaysWhatIsUncertain kills a runner during a workstream with
// effect = "once". The status must call the workstream uncertain and name the commands
// that decide, and the decision must take effect in the next build.
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
				t.Errorf("during the build, resolve says %q", said)
			}
			l.signal(syscall.SIGKILL)
			l.exits(-1)
			status := launch(t, dir, "status", "PRD-001")
			status.exits(0)
			for _, want := range []string{"uncertain", "runner resolve PRD-001 WS1 --done", "runner resolve PRD-001 WS1 --rerun"} {
				if !strings.Contains(status.stdout.String(), want) {
					t.Errorf("the status does not say %q:\n%s", want, status.stdout.String())
				}
			}
			replace(t, dir+"/again", nil)
			launch(t, dir, "resolve", "PRD-001", "WS1", answer).exits(0)
			launch(t, dir, "build", "PRD-001", "--resume").exits(0)
			if n := lines(t, dir, "sent"); n != sent {
				t.Errorf("the workstream ran %d times, want %d", n, sent)
			}
		})
	}
}
