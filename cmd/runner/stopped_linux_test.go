package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// awaitZombie waits until a process has ended. Its parent need not have waited for it.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	await(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !isAlive(pid) })
}

// TestEndWithoutARecordIsUnknown kills the runner after the process of a workstream has
// succeeded and before this is on record. Whether the next build runs the workstream
// again must depend on the effect and the verify command of the workstream.
func TestEndWithoutARecordIsUnknown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		effect string // the lines of the workstream
		code   int    // exit code of the next build
		ran    int    // how often the workstream runs in all
	}{
		"default":                {``, 0, 2},
		"idempotent":             {`effect = "idempotent"`, 0, 2},
		"pure":                   {`effect = "pure"`, 0, 2},
		"once":                   {`effect = "once"`, exitPaused, 1},
		"once, and it happened":  {"effect = \"once\"\n verify = [\"test\", \"-e\", \"ran\"]", 0, 1},
		"once, and it did not":   {"effect = \"once\"\n verify = [\"false\"]", 0, 2},
		"once, and nobody knows": {"effect = \"once\"\n verify = [\"sh\", \"-c\", \"exit 2\"]", exitPaused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t, heldBy("", tt.effect))
			l := launch(t, dir, "build", "PRD-001")
			child := awaitPID(t, dir, "pid")
			l.signal(syscall.SIGSTOP)
			await(t, "the runner has stopped", func() bool { return processState(t, l.cmd.Process.Pid) == "T" })
			write(t, dir, "go")
			awaitZombie(t, child)
			l.signal(syscall.SIGKILL)
			l.exits(-1)
			if strings.Contains(journalOf(t, dir), "workstream.completed") {
				t.Fatal("the end of the workstream is on record: this case proves nothing")
			}
			run(t, dir, tt.code, "build", "PRD-001", "--resume")
			if got := lines(t, dir, "ran"); got != tt.ran {
				t.Errorf("the workstream ran %d times, want %d", got, tt.ran)
			}
			if got, want := lines(t, dir, "ran2"), 1-min(1, tt.code); got != want {
				t.Errorf("the workstream that depends on it ran %d times, want %d", got, want)
			}
		})
	}
}

// stoppedInTime starts a runner and stops it with SIGSTOP while its workstream runs. It
// returns the process id of the workstream, and the time over at which the timeout of the
// workstream has expired. If the start was so slow that the timeout may expire before the
// stop, stoppedInTime tries again with twice the timeout.
func stoppedInTime(t *testing.T, timeout time.Duration) (dir string, l *launched, child int, over time.Time) {
	t.Helper()
	for ; ; timeout *= 2 {
		dir = newWorkspace(t, heldBy(fmt.Sprintf("defaults { timeout = %q }", timeout), ""))
		began := time.Now()
		l = launch(t, dir, "build", "PRD-001")
		child = awaitPID(t, dir, "pid")
		over = time.Now().Add(timeout)
		await(t, "the start of the workstream is on record", func() bool { return strings.Contains(journalOf(t, dir), "workstream.started") })
		l.signal(syscall.SIGSTOP)
		await(t, "the runner has stopped", func() bool { return processState(t, l.cmd.Process.Pid) == "T" })
		if time.Since(began) < timeout {
			return dir, l, child, over
		}
		l.signal(syscall.SIGKILL)
		l.exits(-1)
	}
}

// processState returns the state letter of a process in /proc, such as T for stopped.
func processState(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[0]
}

// TestStoppedOwnerStaysTheOwner stops a runner with SIGSTOP. Meanwhile every command that
// needs the session must be refused and name the owner, and status must work. When the
// runner continues, it must complete the session: a workstream that ended in time during
// the stop has not timed out.
func TestStoppedOwnerStaysTheOwner(t *testing.T) {
	t.Parallel()
	dir, l, child, over := stoppedInTime(t, 4*time.Second)
	write(t, dir, "go")
	awaitZombie(t, child)
	want := fmt.Sprintf("pid %d,", l.cmd.Process.Pid)
	for _, args := range [][]string{
		{"build", "PRD-001", "--resume"}, {"build", "PRD-001", "--fresh"}, {"abandon", "PRD-001", "--yes"},
		{"checkpoint", "rollback", "PRD-001", "0", "--yes"}, {"checkpoint", "delete", "PRD-001", "--session", "--yes"},
	} {
		if said := run(t, dir, exitLocked, args...); !strings.Contains(said, want) || !strings.Contains(said, "`kill -CONT") {
			t.Errorf("%q says %q", args, said)
		}
	}
	for _, args := range [][]string{{"pause", "PRD-001"}, {"checkpoint", "create", "PRD-001"}} { // requests that the owner would have to answer
		said := run(t, dir, exitLocked, args...)
		if !strings.Contains(said, "withdrawn") || !strings.Contains(said, fmt.Sprintf("kill -CONT %d", l.cmd.Process.Pid)) {
			t.Errorf("%q says %q", args, said)
		}
	}
	if status := run(t, dir, 0, "status", "PRD-001"); !strings.Contains(status, "in_progress") || !strings.Contains(status, fmt.Sprintf("pid %d ", l.cmd.Process.Pid)) ||
		!strings.Contains(status, fmt.Sprintf("nothing goes on until `fg` in its terminal, or `kill -CONT %d`", l.cmd.Process.Pid)) {
		t.Errorf("the status is\n%s", status)
	}
	await(t, "the timeout is over", func() bool { return time.Now().After(over) })
	l.signal(syscall.SIGCONT)
	l.exits(0)
	if ran, after := lines(t, dir, "ran"), lines(t, dir, "ran2"); ran != 1 || after != 1 {
		t.Errorf("WS1 ran %d times, WS2 %d times", ran, after)
	}
}
