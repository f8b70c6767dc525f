package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prdrunner/runner"
)

// Recover ends every process of the session on this machine that belongs to our
// user, but this program, those it descends from and what this executor runs:
// SIGTERM, Options.RecoverGrace, SIGKILL. It returns a description of each when
// all are gone. They are known by RUNNER_SESSION, or by their output, if it still
// goes into the directory of the session's logs ("": not by that). Who cleared
// the environment and writes elsewhere is not found. What another user's process, which
// can't be looked at, still has as its output is an *UnseenError.
func (e *Executor) Recover(ctx context.Context, session, logs string) ([]runner.Leftover, error) {
	if session == "" {
		return nil, errors.New("end the processes of a session: the session has no id")
	}
	r := &recovery{executor: e, mark: ofSession(session, logs), spared: ancestors(), killAt: time.Now().Add(e.options.RecoverGrace)}
	defer r.close()
	// In an instant of exec a process shows no environment: look twice.
	quiet := 0
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		alive, err := r.round()
		if quiet++; alive > 0 {
			quiet = 0
		}
		switch {
		case err == nil && quiet == 2:
			return r.found, unseen(logs)
		case err == nil && alive > 0 && time.Since(r.killAt) > killWait:
			err = fmt.Errorf("%w: %d left", ErrUnkillable, alive)
		case err == nil:
			err = sleep(ctx, pause)
		}
		if err != nil {
			return r.found, fmt.Errorf("end the processes of session %s: %w", session, err)
		}
	}
}

// Alive returns the processes of a session that are alive on this machine and
// belong to our user, but this program and those it descends from: what Recover
// would end. What can't be seen is not told.
func Alive(session, logs string) []runner.Leftover {
	pids, err := allProcesses()
	if err != nil || session == "" {
		return nil
	}
	var alive []runner.Leftover
	spared, mark := ancestors(), ofSession(session, logs)
	for _, pid := range pids {
		if spared[pid] {
			continue
		}
		h, ok := openHandle(pid, mark)
		if !ok {
			continue
		}
		workstream, _ := lookUpEnviron(h.environ, workstreamVariable)
		if !h.info.zombie {
			alive = append(alive, runner.Leftover{PID: pid, Command: "[" + h.info.name + "]", Task: workstream})
		}
		h.close()
	}
	return alive
}

// recovery is one call of Recover.
type recovery struct {
	executor *Executor
	mark     mark
	spared   map[int]bool
	killAt   time.Time
	handles  []*handle
	found    []runner.Leftover
}

// round asks the processes that are new to end, kills all when it is time, and
// returns how many are still alive.
func (r *recovery) round() (alive int, err error) {
	pids, err := allProcesses()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if r.spared[pid] || r.knows(pid) {
			continue
		}
		h, ok := openHandle(pid, r.mark)
		if !ok {
			continue
		}
		if r.supervised(h) {
			h.close()
			continue
		}
		r.handles = append(r.handles, h)
		r.found = append(r.found, r.executor.describe(h.info, h.environ, true))
		h.signal(unix.SIGTERM)
		h.signal(unix.SIGCONT)
	}
	kill := !time.Now().Before(r.killAt)
	for _, h := range r.handles {
		if h.gone() {
			continue
		}
		alive++
		if kill {
			h.signal(unix.SIGKILL)
		}
	}
	return alive, nil
}

// knows reports whether a process was asked already and is still alive.
func (r *recovery) knows(pid int) bool {
	for _, h := range r.handles {
		if h.info.pid == pid && !h.gone() {
			return true
		}
	}
	return false
}

// supervised reports whether the process is one of a task of this executor.
func (r *recovery) supervised(h *handle) bool {
	token, _ := lookUpEnviron(h.environ, tokenVariable)
	return strings.HasPrefix(token, r.executor.tokenPrefix())
}

func (r *recovery) close() {
	for _, h := range r.handles {
		h.close()
	}
}

// ancestors returns our own pid and those of all we descend from.
func ancestors() map[int]bool {
	pids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !pids[pid]; {
		pids[pid] = true
		info, ok := readProc(pid)
		if !ok {
			break
		}
		pid = info.parent
	}
	return pids
}

// handle is a hold on a process that is not our child, so that a signal never
// reaches another one which got its pid later.
type handle struct {
	info    procInfo
	environ []byte
	fd      int // a pidfd; -1: the kernel has none, and the start time has to do
}

// mark is what a process is known by.
type mark struct {
	name, value string // a variable of its environment
	logs        string // or a directory that its output goes into, "": none
}

// ofSession is the mark of all processes of a session.
func ofSession(session, logs string) mark {
	if real, err := filepath.EvalSymlinks(logs); err == nil && logs != "" {
		return mark{sessionVariable, session, real}
	}
	return mark{sessionVariable, session, ""}
}

// isOn reports whether a process has the mark.
func (m mark) isOn(pid int, environ []byte) bool {
	value, ok := lookUpEnviron(environ, m.name)
	return ok && value == m.value || m.logs != "" && writesInto(pid, m.logs)
}

// writesInto reports whether a process has its standard output or error open for
// writing in a directory. Who reads a log is nobody's leftover.
func writesInto(pid int, dir string) bool {
	for _, fd := range []string{"1", "2"} {
		path, err := os.Readlink(procPath(pid, "fd/"+fd))
		if err != nil || filepath.Dir(path) != dir {
			continue
		}
		// The link itself has the permissions that the file was opened with.
		if info, err := os.Lstat(procPath(pid, "fd/"+fd)); err == nil && info.Mode()&0o200 != 0 {
			return true
		}
	}
	return false
}

// openHandle succeeds if the process is alive, belongs to our user and has the
// mark. It is looked for through an open handle: had the pid changed hands
// before, the signal would go to the one that is gone.
func openHandle(pid int, m mark) (*handle, bool) {
	var stat unix.Stat_t
	if unix.Stat(procPath(pid, ""), &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return nil, false
	}
	// Most processes of a machine are not ours: look before anything is opened.
	if !m.isOn(pid, readEnviron(pid)) {
		return nil, false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil, false
	}
	if err != nil {
		fd = -1
	}
	h := &handle{environ: readEnviron(pid), fd: fd}
	var alive bool
	h.info, alive = readProc(pid)
	if !alive || !m.isOn(pid, h.environ) {
		h.close()
		return nil, false
	}
	return h, true
}

// signal sends a signal; a process that is gone is no mistake, and one that
// refuses shows by staying alive.
func (h *handle) signal(signal syscall.Signal) {
	if h.fd >= 0 {
		_ = unix.PidfdSendSignal(h.fd, signal, nil, 0)
		return
	}
	if !h.gone() {
		_ = syscall.Kill(h.info.pid, signal)
	}
}

// gone reports whether the process has ended; it may still be a zombie.
func (h *handle) gone() bool {
	if h.fd < 0 {
		now, ok := readProc(h.info.pid)
		return !ok || now.zombie || now.began != h.info.began
	}
	poll := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}

func (h *handle) close() {
	if h.fd >= 0 {
		_ = unix.Close(h.fd)
		h.fd = -1
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
