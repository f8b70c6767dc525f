package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prdrunner/runner"
)

// noOrphans fails the test if the program has a zombie or an orphan of session.
// The zombies may be of any test, so nothing else may run meanwhile.
func noOrphans(t *testing.T, e *Executor, session string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	pids, err := allProcesses()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if got, _ := lookUpEnviron(readEnviron(pid), sessionVariable); got == session {
			t.Errorf("process %d is still alive", pid)
		}
	}
	orphans, err := e.system.orphans()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range orphans {
		if info, ok := readProc(pid); ok && info.zombie {
			t.Errorf("zombie %+v", info)
		}
	}
}

func awaitPID(t testing.TB, path string) int {
	t.Helper()
	pid, err := strconv.Atoi(awaitLine(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// awaitStopped waits until a process is stopped.
func awaitStopped(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") T ") {
			return
		}
	}
	t.Fatalf("process %d does not stop", pid)
}

func TestStoppedProcessIsEnded(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, Options{})
	task := shell(t, `trap 'echo asked; exit 0' TERM; echo $$ > ready; kill -STOP $$; while :; do sleep 0.01; done`)
	ctx, cancel := context.WithCancel(context.Background())
	_, result := background(ctx, t, e, task)
	awaitStopped(t, awaitPID(t, filepath.Join(task.Dir, "ready")))
	cancel()
	result()
	if got := logOf(t, task); got != "asked\n" {
		t.Errorf("log: %q; the stopped process was not continued to handle SIGTERM", got)
	}
}

func TestBackgroundProcessIsBoundedAndReported(t *testing.T) {
	e := newExecutor(t, Options{})
	task := shell(t, "sleep 300 & exit 0")
	began := time.Now()
	got := run(t, e, task)
	if !got.Succeeded() || len(got.Leftovers) != 1 || got.Leftovers[0].Command != "sleep 300" || got.Leftovers[0].Task != "WS1" || got.Leftovers[0].PID == 0 {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	noOrphans(t, e, task.Session)
}

func TestShortLivedOrphanIsNotReported(t *testing.T) {
	e := newExecutor(t, Options{})
	e.leftoverDelay = 20 * time.Second
	task := shell(t, "(sleep 0.01; echo done) & exit 0")
	if got := run(t, e, task); !got.Succeeded() || len(got.Leftovers) != 0 {
		t.Errorf("got %+v", got)
	}
	if got := logOf(t, task); got != "done\n" {
		t.Errorf("log: %q; the orphan was ended early", got)
	}
	noOrphans(t, e, task.Session)
}

func TestGrandchildThatLeftTheGroup(t *testing.T) {
	e := newExecutor(t, Options{})
	e.leftoverDelay = 400 * time.Millisecond
	tests := map[string]string{
		"setsid":                    "setsid sleep 300 & exit 0",
		"setsid with children":      "setsid sh -c 'sleep 300 & setsid sleep 300 & wait' & exit 0",
		"cleared environment":       "setsid env -i " + lookPath(t, "sleep") + " 300 & exit 0",
		"ignoring SIGTERM":          "trap '' TERM; setsid sleep 300 & exit 0",
		"stopped":                   "setsid sh -c 'kill -STOP $$' & exit 0",
		"ends only after its grace": "setsid sh -c \"trap 'sleep 0.2; echo bye; exit' TERM; while :; do sleep 0.01; done\" & exit 0",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			task := shell(t, script)
			task.Grace = 2 * time.Second
			got := run(t, e, task)
			if !got.Succeeded() || len(got.Leftovers) == 0 {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(script, "bye") && !strings.HasSuffix(logOf(t, task), "bye\n") {
				t.Errorf("log: %q", logOf(t, task))
			}
			noOrphans(t, e, task.Session)
		})
	}
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStragglerIsAskedWithItsTask(t *testing.T) {
	e := newExecutor(t, Options{})
	task := shell(t, `setsid sh -c "trap 'echo asked; exit' TERM; echo > ready; while :; do sleep 0.01; done" & wait`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, result := background(ctx, t, e, task)
	awaitLine(t, filepath.Join(task.Dir, "ready"))
	cancel()
	if got := result(); got.Outcome != runner.Cancelled {
		t.Errorf("got %+v", got)
	}
	if got := logOf(t, task); strings.Count(got, "asked\n") != 1 {
		t.Errorf("log: %q", got)
	}
	noOrphans(t, e, task.Session)
}

func TestOrphanOfARunningTaskIsLeftAlone(t *testing.T) {
	e := newExecutor(t, Options{})
	for name, leave := range map[string]string{
		"in its group":        "sleep 300",
		"by its token":        "setsid sleep 300",
		"cleared environment": "setsid env -i " + lookPath(t, "sleep") + " 300",
	} {
		t.Run(name, func(t *testing.T) {
			task := shell(t, "("+leave+" & echo $! > pid); sleep 300")
			task.Grace = 200 * time.Millisecond
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, result := background(ctx, t, e, task)
			orphan := awaitPID(t, filepath.Join(task.Dir, "pid"))
			for range 5 {
				other := shell(t, "sleep 300 & exit 0")
				other.ID += "other"
				if got := run(t, e, other); len(got.Leftovers) != 1 {
					t.Errorf("another task got %+v", got)
				}
			}
			if !alive(orphan) {
				t.Error("the end of another task ended the orphan")
			}
			cancel()
			result()
			if alive(orphan) {
				t.Error("the end of its task did not end the orphan")
			}
			noOrphans(t, e, task.Session)
		})
	}
}

// TestOrphanIsReapedWhileItsTaskRuns: a task leaves an orphan that ends, and waits until no
// process has its pid any more. A zombie would have it.
func TestOrphanIsReapedWhileItsTaskRuns(t *testing.T) {
	e := newExecutor(t, Options{})
	for name, leave := range map[string]string{"in its group": "", "in a group of its own": "setsid "} {
		t.Run(name, func(t *testing.T) {
			task := shell(t, "("+leave+"sh -c 'echo $$ > pid; exit 3' &); until test -s pid; do sleep 0.01; done\n"+
				"while kill -0 $(cat pid); do sleep 0.01; done")
			task.Timeout = time.Minute
			if got := run(t, e, task); !got.Succeeded() {
				t.Errorf("got %+v", got)
			}
			noOrphans(t, e, task.Session)
		})
	}
}

func TestRunnerIsKilled(t *testing.T) {
	e := newExecutor(t, Options{RecoverGrace: 500 * time.Millisecond})
	dir := t.TempDir()
	session := "killed-" + strconv.Itoa(os.Getpid())
	script := `setsid sh -c 'trap "" TERM; echo $$ > escaped; while :; do sleep 300; done' & echo $$ > main; wait`
	cmd := exec.Command(os.Args[0], script, session)
	cmd.Env = append(os.Environ(), roleVariable+"=runner")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	main, escaped := awaitPID(t, filepath.Join(dir, "main")), awaitPID(t, filepath.Join(dir, "escaped"))
	hold, err := unix.PidfdOpen(main, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(hold)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(hold), Events: unix.POLLIN}}, 20_000); err != nil || n != 1 {
		t.Fatalf("the task's main process outlived the runner: %d, %v", n, err)
	}
	if got, err := e.Recover(context.Background(), session+"-not", ""); err != nil || len(got) != 0 {
		t.Errorf("another session: %+v, %v", got, err)
	}
	if !alive(escaped) {
		t.Fatal("the process that escaped is gone: there is nothing to find")
	}
	found, err := e.Recover(context.Background(), session, "")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, leftover := range found {
		commands = append(commands, leftover.Command)
		if leftover.Task != "WS9" {
			t.Errorf("leftover %+v is not of WS9", leftover)
		}
	}
	if got := strings.Join(commands, "\n"); !strings.Contains(got, "echo $$ > escaped") || !strings.Contains(got, "sleep 300") {
		t.Errorf("found %q", commands)
	}
	if info, ok := readProc(escaped); ok && !info.zombie {
		t.Errorf("alive after Recover: %+v", info)
	}
	if got, err := e.Recover(context.Background(), session, ""); err != nil || len(got) != 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// TestNoSessionHasNoProcesses: a process whose variable RUNNER_SESSION is empty belongs to
// no session.
func TestNoSessionHasNoProcesses(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "300")
	cmd.Env = []string{"RUNNER_SESSION="}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	if got := Alive("", ""); len(got) != 0 {
		t.Errorf("no session has the processes %+v", got)
	}
}

// TestCommandOfALeftoverIsCut: a command line of more than commandLimit bytes is cut.
func TestCommandOfALeftoverIsCut(t *testing.T) {
	t.Parallel()
	const script = "echo begun; read wait"
	e := newExecutor(t, Options{})
	for length, marked := range map[int]bool{commandLimit: false, commandLimit + 1: true} {
		cmd := exec.Command("sh", "-c", script, strings.Repeat("x", length-len("sh -c "+script+" ")))
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(stdout, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
		got := e.describe(procInfo{pid: cmd.Process.Pid, name: "sh"}, nil, false).Command
		if !strings.HasPrefix(got, "sh -c "+script) || strings.HasSuffix(got, "…") != marked || len(strings.TrimSuffix(got, "…")) != commandLimit {
			t.Errorf("a command line of %d bytes is described in %d: %s", length, len(got), got)
		}
		_ = stdin.Close()
		_ = cmd.Wait() // read fails at the end of its input
	}
}

// TestUnseenProcessHoldsALog: a log that is locked is the output of a process. Other files
// of the directory are none.
func TestUnseenProcessHoldsALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	create := func(name string, lock bool) {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if lock {
			lockLog(f)
		}
	}
	create("free.log", false)
	create("held.txt", true)
	if err := os.Mkdir(filepath.Join(dir, "directory.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkUnseen(dir); err != nil {
		t.Errorf("no log is held: %v", err)
	}
	if err := checkUnseen(filepath.Join(dir, "missing")); err != nil {
		t.Errorf("there are no logs: %v", err)
	}
	create("held.log", true)
	var unseen *UnseenError
	if err := checkUnseen(dir); !errors.As(err, &unseen) || unseen.Log != filepath.Join(dir, "held.log") {
		t.Errorf("a log is held: %v", err)
	}
}

// countedContext calls onWait before each wait of the code that has the context.
type countedContext struct {
	context.Context
	onWait func()
}

func (c countedContext) Done() <-chan struct{} {
	c.onWait()
	return c.Context.Done()
}

// TestRecoverWaitsForADyingProcess: a log is held at the first look for holders, and free before
// the second. So it is with a process that was killed, whose files the system still closes.
func TestRecoverWaitsForADyingProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "held.log"))
	if err != nil {
		t.Fatal(err)
	}
	lockLog(log)
	waits := 0
	ctx := countedContext{t.Context(), func() {
		if waits++; waits == 2 { // the first wait is between the rounds
			_ = log.Close()
		}
	}}
	if _, err := newExecutor(t, Options{}).Recover(ctx, "no-such-session", dir); err != nil || waits != 2 {
		t.Errorf("after %d waits: %v", waits, err)
	}
}

func TestRecoverSparesItsAncestors(t *testing.T) {
	// The test process is an ancestor of the shell, and the shell of env. Recover must
	// end neither of them when a process in the session calls it.
	spared := ancestors()
	if !spared[os.Getpid()] || !spared[os.Getppid()] {
		t.Errorf("spared: %v", spared)
	}
	e := newExecutor(t, Options{})
	if _, err := e.Recover(context.Background(), "", ""); err == nil {
		t.Error("an empty session was accepted")
	}
	task := command(t, "sleep", "300")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pid, result := background(ctx, t, e, task)
	if got, err := e.Recover(ctx, task.Session, ""); err != nil || len(got) != 0 || !alive(pid) {
		t.Errorf("Recover took a supervised process for a leftover: %+v, %v", got, err)
	}
	cancel()
	result()
}

func TestFiveHundredDoubleForks(t *testing.T) {
	e := newExecutor(t, Options{Mask: mask})
	e.leftoverDelay = 2 * time.Second
	task := shell(t, `i=0; while [ $i -lt 250 ]; do (setsid sleep 300 &); (setsid true &); i=$((i+1)); done`)
	task.Mask = true
	run(t, e, command(t, "true")) // opens the descriptors that stay open
	before := openDescriptors(t)
	got := run(t, e, task)
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors are open, and %d were before", after, before)
	}
	if !got.Succeeded() || len(got.Leftovers) != 250 {
		t.Errorf("outcome %s, %d leftovers", got.Outcome, len(got.Leftovers))
	}
	noOrphans(t, e, task.Session)
}

// openDescriptors counts the open descriptors of this process.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestTextBusy(t *testing.T) {
	e := newExecutor(t, Options{})
	task := command(t, "./program")
	program, err := os.OpenFile(filepath.Join(task.Dir, "program"), os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(lookPath(t, "true"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.Write(binary); err != nil {
		t.Fatal(err)
	}
	if got := run(t, e, task); got.Outcome != runner.NotExecutable || !strings.Contains(got.Detail, "text file busy") {
		t.Errorf("while the program is open for writing: %+v", got)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	if got := run(t, e, task); !got.Succeeded() {
		t.Errorf("once the program is closed: %+v", got)
	}
}

// inherited lists the descriptors that the test binary inherited and that all its
// children get.
var inherited = descriptorsForChildren()

func descriptorsForChildren() map[string]bool {
	fds := map[string]bool{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		fd, _ := strconv.Atoi(entry.Name())
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds[entry.Name()] = true
		}
	}
	return fds
}

func TestNoDescriptorLeaks(t *testing.T) {
	e := newExecutor(t, Options{Mask: mask})
	for _, masked := range []bool{false, true} {
		task := command(t, "ls", "/proc/self/fd")
		task.Mask = masked
		run(t, e, task)
		got := strings.Fields(strings.TrimSuffix(logOf(t, task), "<closed>"))
		got = slices.DeleteFunc(got, func(fd string) bool { return !slices.Contains([]string{"0", "1", "2"}, fd) && inherited[fd] })
		if strings.Join(got, " ") != "0 1 2 3" { // 3 is the directory that ls reads
			t.Errorf("masked %v: the child has descriptors %q", masked, got)
		}
	}
}

func TestMaskedOutputOfALeftover(t *testing.T) {
	e := newExecutor(t, Options{Mask: mask})
	e.leftoverDelay = time.Second
	task := shell(t, "echo before; (setsid sh -c 'echo after; sleep 300' &); exit 0")
	task.Mask = true
	began := time.Now()
	got := run(t, e, task)
	if len(got.Leftovers) == 0 || strings.Contains(got.Leftovers[0].Command, "sleep") {
		t.Errorf("leftovers %+v: not masked", got.Leftovers)
	}
	if got := logOf(t, task); got != "BEFORE\nAFTER\n<closed>" {
		t.Errorf("log: %q", got)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestMaskedOutputHeldOpenFromOutside: a process that does not belong to the task holds
// the output pipe of the task open. The task ends nevertheless.
func TestMaskedOutputHeldOpenFromOutside(t *testing.T) {
	e := newExecutor(t, Options{Mask: mask})
	task := shell(t, "echo $$ > pid; read line < go; echo written")
	task.Mask = true
	if err := syscall.Mkfifo(filepath.Join(task.Dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, result := background(context.Background(), t, e, task)
	pid := awaitPID(t, filepath.Join(task.Dir, "pid"))
	held, err := os.OpenFile(procPath(pid, "fd/1"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.WriteFile(filepath.Join(task.Dir, "go"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	result()
	if got := logOf(t, task); got != "WRITTEN\n<closed>" {
		t.Errorf("log: %q", got)
	}
}

// TestForeignChildIsLeftAlone: a process that the program starts without the executor is
// not an orphan of a task. The executor does not reap the process.
func TestForeignChildIsLeftAlone(t *testing.T) {
	e := newExecutor(t, Options{})
	e.leftoverDelay = 20 * time.Second
	for range 20 { // so that some processes are forked on the main thread
		cmd := exec.Command("sh", "-c", "exit 3")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		run(t, e, shell(t, "(sleep 0.01 &); exit 0"))
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
			t.Fatalf("the executor reaped a process that it had not started: %v", err)
		}
	}
}

// TestKernelWithoutListsOfChildren: without the kernel's list of children, Runner
// searches all of /proc, and must not take tasks that are just being started for orphans.
func TestKernelWithoutListsOfChildren(t *testing.T) {
	e := newExecutor(t, Options{})
	e.leftoverDelay = 500 * time.Millisecond
	e.stopReaper()
	e.reaper = reaper{}
	if err := e.system.close(); err != nil {
		t.Fatal(err)
	}
	e.system.children = -1
	var others sync.WaitGroup
	for i := range 2 {
		others.Go(func() {
			task := command(t, "true")
			for j := range 50 {
				task.ID = fmt.Sprint(i, j)
				if got, err := e.Run(context.Background(), task, nil); err != nil || !got.Succeeded() || len(got.Leftovers) > 0 {
					t.Errorf("another task got %+v, %v", got, err)
				}
			}
		})
	}
	for range 3 {
		task := shell(t, "sleep 300 & setsid sleep 300 & (setsid true &); exit 0")
		if got := run(t, e, task); !got.Succeeded() || len(got.Leftovers) != 2 {
			t.Errorf("got %+v", got)
		}
	}
	others.Wait()
	noOrphans(t, e, sessionOf(t))
}

func TestKernelWithoutPidfds(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	cmd.Env = []string{"RUNNER_SESSION=no-pidfd"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// /proc shows the environment only a moment after the process has started.
	h, ok := openHandle(cmd.Process.Pid, mark{name: sessionVariable, value: "no-pidfd"})
	for deadline := time.Now().Add(20 * time.Second); !ok && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		h, ok = openHandle(cmd.Process.Pid, mark{name: sessionVariable, value: "no-pidfd"})
	}
	if !ok {
		t.Fatal("not found", cmd.Process.Kill(), cmd.Wait())
	}
	h.close() // from here on the handle has no pidfd
	if h.hasEnded() {
		t.Error("the handle reports a live process as ended")
	}
	recycled := *h
	recycled.info.began++ // the handle of a process that had the pid before
	recycled.signal(syscall.SIGKILL)
	if !recycled.hasEnded() || h.hasEnded() {
		t.Error("the handle of an earlier process with the same pid signalled the process")
	}
	h.signal(syscall.SIGTERM)
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM || !h.hasEnded() {
		t.Errorf("ended: %v, error %v, want SIGTERM", h.hasEnded(), err)
	}
	if _, ok := openHandle(os.Getpid(), mark{name: sessionVariable, value: "no-pidfd"}); ok {
		t.Error("found in a process without that session")
	}
}

func TestLogThatCannotBeWrittenWhileMasked(t *testing.T) {
	e := newExecutor(t, Options{Mask: mask})
	task := shell(t, "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo > ended")
	task.Mask, task.Log = true, "/dev/full"
	got, err := e.Run(context.Background(), task, nil)
	if !errors.Is(err, syscall.ENOSPC) || !got.Succeeded() {
		t.Errorf("got %+v, %v", got, err)
	}
	awaitLine(t, filepath.Join(task.Dir, "ended"))
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "42 (a) b (c) Z 7 41 40 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n"
	want := procInfo{pid: 42, parent: 7, group: 41, zombie: true, began: 123456, name: "a) b (c"}
	if got, ok := parseStat(42, line); !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "42", "42 (a", "42 a)", "42 (a) Z 7", strings.Replace(line, "41", "x", 1)} {
		if got, ok := parseStat(42, bad); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func BenchmarkTrue(b *testing.B) {
	e := newExecutor(b, Options{BaseEnv: os.Environ()})
	task := command(b, "true")
	for b.Loop() {
		if got := run(b, e, task); !got.Succeeded() {
			b.Fatalf("got %+v", got)
		}
	}
}

// BenchmarkFloor measures the lower bound of BenchmarkTrue.
func BenchmarkFloor(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}}
	for b.Loop() {
		pid, err := syscall.ForkExec(path, []string{"true"}, attr)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
}
