package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"prdrunner/runner"
)

// system needs nothing here.
type system struct{}

func newSystem() (system, error) { return system{}, nil }

func (system) close() error { return nil }

// onWorkerThread calls f. Here no process depends on the thread that started it.
func onWorkerThread(f func()) { f() }

// process holds the handles of a task's main process.
type process struct {
	main  *os.Process
	job   windows.Handle
	state *os.ProcessState
}

func createLog(path string) (*os.File, error) { return os.OpenFile(path, logFlags, logMode) }

// startTask starts the process in a new job, and registers the task. A failure that is the
// task's fault is a startFailure, any other an error.
func (e *Executor) startTask(t *task, out *output) (*startFailure, error) {
	env := e.environ.forTask(t.work, t.token)
	file, failure := lookUp(t.work.Command[0], lastValue(env, "PATH"), t.work.Dir)
	if failure != nil {
		return failure, nil
	}
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	t.job = job
	stdin := e.null
	if t.input != nil {
		stdin = t.input.child
	}
	attr := &os.ProcAttr{
		Dir:   t.work.Dir,
		Env:   env,
		Files: []*os.File{stdin, out.child, out.child},
		Sys:   &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP},
	}
	e.forks.RLock()
	defer e.forks.RUnlock()
	t.main, err = os.StartProcess(file, t.work.Command, attr)
	if err != nil {
		closeErr := windows.CloseHandle(job)
		if failure := explainStart(err, t.work.Dir); failure != nil {
			return failure, closeErr
		}
		return nil, errors.Join(fmt.Errorf("start %s: %w", file, err), closeErr)
	}
	t.pid = t.main.Pid
	if err := t.enterJob(); err != nil {
		e.options.Logger.Warn("cannot put a process into its job", "pid", t.pid, "error", err)
	}
	e.register(t)
	return nil, errors.Join(out.release(), t.input.release())
}

// newJob returns a job whose processes end with its last handle, even if Runner is killed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	return job, nil
}

func (t *task) enterJob() error {
	var err error
	handleErr := t.main.WithHandle(func(handle uintptr) {
		err = windows.AssignProcessToJobObject(t.job, windows.Handle(handle))
	})
	return errors.Join(handleErr, err)
}

// wait returns when the main process has ended.
func (t *task) wait() error {
	state, err := t.main.Wait()
	t.state = state
	return err
}

// hasEnded returns false: wait finds out.
func (t *task) hasEnded() bool { return false }

// askGroup sends Ctrl+Break to the process group, which must share Runner's console. The
// caller holds t.mu and has checked that t has not exited.
func (t *task) askGroup() {
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.pid)) != nil {
		t.killGroup()
	}
}

// killGroup ends all processes of the job. The caller does as for askGroup.
func (t *task) killGroup() {
	err := errors.Join(windows.TerminateJobObject(t.job, 1), t.main.Kill())
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.executor.options.Logger.Warn("cannot end a process", "pid", t.pid, "error", err)
	}
}

// askStragglers finds none: the job holds them.
func (t *task) askStragglers() map[int]bool { return nil }

// endLeftovers ends the processes that remain in the job. It cannot tell which they were.
func (e *Executor) endLeftovers(t *task) ([]runner.Leftover, error) {
	return nil, os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(t.job, 1))
}

func (e *Executor) collect(t *task) (ending, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, t.pid)
	return ending{code: t.state.ExitCode()}, os.NewSyscallError("CloseHandle", windows.CloseHandle(t.job))
}

// lookUp finds the program of a command: a name with a separator is relative to dir, any
// other is searched for in path, with the usual extensions.
func lookUp(name, path, dir string) (string, *startFailure) {
	folders := filepath.SplitList(path)
	if strings.ContainsAny(name, `/\`) {
		folders = []string{""}
	}
	for _, folder := range folders {
		file := filepath.Join(folder, name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if found, err := exec.LookPath(file); err == nil {
			return found, nil
		}
	}
	if near := didYouMean(name, path, dir); near != "" {
		return "", notFound("%s: not found in PATH%s", name, near)
	}
	return "", notFound("%s: not found in PATH (%s)", name, path)
}

// isProgram reports whether a file is executable, by its extension.
func isProgram(file string) bool {
	_, err := exec.LookPath(file)
	return err == nil
}

// explainStart returns the reason why the system did not start a program in dir, or nil
// if that is not the task's fault.
func explainStart(cause error, dir string) *startFailure {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return notExecutable("the working directory %s is not a directory", dir)
	}
	switch {
	case errors.Is(cause, fs.ErrNotExist):
		return notFound("%s", cause)
	case errors.Is(cause, fs.ErrPermission), errors.Is(cause, windows.ERROR_BAD_EXE_FORMAT), errors.Is(cause, windows.ERROR_SHARING_VIOLATION):
		return notExecutable("%s", cause)
	default:
		return nil
	}
}

// Alive finds nothing, for the same reason as Recover.
func Alive(string, string) []runner.Leftover { return nil }

// Recover returns nil, nil: jobs end with the program that created them.
func (e *Executor) Recover(context.Context, string, string) ([]runner.Leftover, error) {
	return nil, nil
}
