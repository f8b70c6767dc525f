//go:build unix

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killWait is how long to wait for a killed process.
const killWait = 10 * time.Second

// Starting a program that is open for writing is tried a few times, with doubling pauses.
// Between fork and exec, a child of any other thread holds copies of all descriptors, so
// that a program that was just written may be busy for a moment.
const (
	busyTries = 6
	busyPause = time.Millisecond
)

// createLog opens a log without registering it with the poller, which package os would do.
// That saves four system calls per task.
func createLog(path string) (*os.File, error) {
	for {
		fd, err := unix.Open(path, logFlags|unix.O_CLOEXEC, logMode)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// startTask starts the process, and registers the task by its pid. A failure that is the
// task's fault is a startFailure, any other an error.
func (e *Executor) startTask(t *task, out *output) (*startFailure, error) {
	for _, arg := range t.work.Command {
		if strings.ContainsRune(arg, 0) {
			return notExecutable("an argument holds a NUL byte"), nil
		}
	}
	env := e.environ.forTask(t.work, t.token)
	path := lastValue(env, "PATH")
	file, remembered, failure := e.programs.findProgram(t.work, path, e.options.Now())
	if failure != nil {
		return failure, nil
	}
	output := out.child.Fd()
	if out.pipe != nil { // a log file needs no goroutine
		if err := syscall.SetNonblock(int(output), false); err != nil {
			return nil, fmt.Errorf("prepare the output: %w", err)
		}
	}
	stdin := e.null.Fd()
	if t.input != nil {
		stdin = t.input.child.Fd()
		if err := syscall.SetNonblock(int(stdin), false); err != nil {
			return nil, fmt.Errorf("prepare the standard input: %w", err)
		}
	}
	attr := &syscall.ProcAttr{
		Dir:   t.work.Dir,
		Env:   env,
		Files: []uintptr{stdin, output, output},
		Sys:   childAttributes(),
	}
	err := e.forkAndRegister(t, file, attr)
	if err != nil && remembered { // the program may have moved
		if file, failure = lookUp(t.work.Command[0], path, t.work.Dir); failure != nil {
			return failure, nil
		}
		err = e.forkAndRegister(t, file, attr)
	}
	for try := 0; try < busyTries && errors.Is(err, syscall.ETXTBSY); try++ {
		time.Sleep(busyPause << try)
		err = e.forkAndRegister(t, file, attr)
	}
	if err != nil {
		if failure := explainStart(err, file, t.work.Dir); failure != nil {
			return failure, nil
		}
		return nil, fmt.Errorf("start %s: %w", file, err)
	}
	return nil, errors.Join(out.release(), t.input.release())
}

// forkAndRegister starts and registers the process in one step under e.forks.
func (e *Executor) forkAndRegister(t *task, file string, attr *syscall.ProcAttr) error {
	e.forks.RLock()
	defer e.forks.RUnlock()
	pid, err := syscall.ForkExec(file, t.work.Command, attr)
	if err != nil {
		return err
	}
	t.pid = pid
	e.register(t)
	return nil
}

// askGroup asks the process group to end. A stopped process receives the signal only when
// it is continued. The caller holds t.mu and has checked that t has not exited, so that
// the group belongs to the task.
func (t *task) askGroup() {
	t.signalGroup(syscall.SIGTERM)
	t.signalGroup(syscall.SIGCONT)
}

// killGroup kills the process group. The caller does as for askGroup.
func (t *task) killGroup() { t.signalGroup(syscall.SIGKILL) }

func (t *task) signalGroup(signal syscall.Signal) {
	if err := syscall.Kill(-t.pid, signal); err != nil && err != syscall.ESRCH {
		t.executor.options.Logger.Warn("cannot signal a process group", "group", t.pid, "signal", unix.SignalName(signal), "error", err)
	}
}

// stopped returns whether the task was stopped, and when its grace ends.
func (t *task) stopped() (bool, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason != "", t.killAt
}

// endingOf translates a wait status.
func endingOf(status syscall.WaitStatus) ending {
	if !status.Signaled() {
		return ending{code: status.ExitStatus()}
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = fmt.Sprintf("signal %d", int(status.Signal()))
	}
	return ending{signal: name}
}
