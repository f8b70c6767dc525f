package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for a program. A program that takes longer is stuck.
const patience = 30 * time.Second

// heldPipeline returns a pipeline whose first workstream writes its process id to the
// file pid, and ends when there is a file named go.
func heldPipeline() string { return heldBy("", "") }

// heldBy returns heldPipeline with more lines in its pipeline block and in its first
// workstream.
func heldBy(inPipeline, inWorkstream string) string {
	return `
pipeline "PRD-001" {
  ` + inPipeline + `
  phase "one" {
    workstream "WS1" {
      ` + inWorkstream + `
      script = "echo ran >> ran; echo $$ > pid.tmp; mv pid.tmp pid; until test -e go; do sleep 0.02; done"
    }
  }
  phase "two" {
    workstream "WS2" { script = "echo ran >> ran2" }
  }
}`
}

// launched is a runner process that runs during the test, without a terminal.
type launched struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// launch starts runner in a directory.
func launch(t *testing.T, dir string, args ...string) *launched {
	t.Helper()
	return launchCommand(t, dir, exec.CommandContext(t.Context(), "runner", args...))
}

// launchCommand starts a command that is runner or executes runner. The rescue copies of
// that runner go to a directory of its own.
func launchCommand(t *testing.T, dir string, cmd *exec.Cmd) *launched {
	t.Helper()
	l := &launched{t: t, cmd: cmd, ended: make(chan struct{})}
	cmd.Dir, cmd.Stdout = dir, &l.stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &l.stderr
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "HOME="+dir)
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.ended)
		_ = cmd.Wait() // cmd.ProcessState has the result
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		<-l.ended
	})
	return l
}

// wait waits for the runner to end, and returns its exit code, -1 if a signal ended it.
func (l *launched) wait() int {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(patience):
		_ = l.cmd.Process.Kill()
		<-l.ended
		l.t.Fatalf("%v does not end\n%s%s", l.cmd.Args, l.stdout.Bytes(), l.stderr.Bytes())
	}
	return l.cmd.ProcessState.ExitCode()
}

// exits waits for the runner, which must exit with this code, and returns its standard
// error.
func (l *launched) exits(want int) string {
	l.t.Helper()
	if got := l.wait(); got != want {
		l.t.Fatalf("%v: exit code %d instead of %d\n%s%s", l.cmd.Args, got, want, l.stdout.Bytes(), l.stderr.Bytes())
	}
	return l.stderr.String()
}

// signal sends a signal to the runner, which must be alive.
func (l *launched) signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// await waits until holds returns true. The text what describes that condition in the
// failure message.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// awaitFile waits for a file that ends with a newline, and returns its text. It is not
// enough that the file exists, because a shell makes a file before it redirects output to
// that file.
func awaitFile(t *testing.T, dir, name string) string {
	t.Helper()
	var data []byte
	await(t, name+" has a line", func() bool {
		var err error
		data, err = os.ReadFile(filepath.Join(dir, name))
		return err == nil && bytes.HasSuffix(data, []byte("\n"))
	})
	return strings.TrimSpace(string(data))
}

// awaitPID waits for a file with a process id, and returns that id.
func awaitPID(t *testing.T, dir, name string) int {
	t.Helper()
	pid, err := strconv.Atoi(awaitFile(t, dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// isAlive reports whether a process runs. A zombie does not run, if /proc exists to tell.
func isAlive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		_, err := os.Stat("/proc/self/stat")
		return err != nil
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z"
}

// lines returns how many lines a file has, 0 if the file does not exist.
func lines(t *testing.T, dir, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}
