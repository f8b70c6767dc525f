package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// system holds the source of orphans on Linux.
type system struct {
	pid      int
	group    int // Runner's process group
	children int // descriptor of the main thread's list of children; -1: the kernel has none
}

// newSystem makes the program a subreaper. The kernel gives orphans to the first living
// thread of a subreaper, which in a Go program is always the main thread. So the main
// thread's list of children contains them.
func newSystem() (system, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return system{}, fmt.Errorf("become a subreaper: %w", err)
	}
	s := system{pid: os.Getpid(), group: unix.Getpgrp(), children: -1}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/children", s.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		s.children = fd
	case !errors.Is(err, os.ErrNotExist):
		return system{}, fmt.Errorf("open the list of children: %w", err)
	}
	return s, nil
}

func (s system) close() error {
	if s.children < 0 {
		return nil
	}
	return os.NewSyscallError("close", unix.Close(s.children))
}

// onWorkerThread calls f on an OS thread that is locked to it and is not the main thread.
// It is locked because a child receives its parent-death signal when the thread that forked
// it ends, and Go ends threads. It is not the main thread because a child is listed under
// the thread that forked it, and the main thread's list is for orphans.
func onWorkerThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
	<-done
}

func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// process is what Linux keeps of a task's main process.
type process struct {
	began uint64 // see age; under Executor.mu
}

// wait returns when the main process has ended. It stays a zombie, so that
// neither its pid nor its group can come to mean another one.
func (t *task) wait() error {
	for {
		err := unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			return os.NewSyscallError("waitid", err)
		}
	}
}

// hasEnded reports whether the main process has ended, even if wait has not returned yet.
// If Runner itself was stopped for a while, the end of the process and the timeout arrive
// together. The caller holds t.mu and has seen that t has not exited.
func (t *task) hasEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, t.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL, nil)
	return err == nil && info.Signo != 0
}

// collect reaps the main process, the last of the task.
func (e *Executor) collect(t *task) (ending, error) {
	var status syscall.WaitStatus
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, t.pid)
	for {
		_, err := syscall.Wait4(t.pid, &status, unix.WALL, nil)
		if err != syscall.EINTR {
			return endingOf(status), os.NewSyscallError("wait4", err)
		}
	}
}
