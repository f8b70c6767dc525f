package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prdrunner/runner"
)

// dyingWait is how long a log may stay open before its holder is a process of another user. A
// process that was killed shows no environment any more while the system closes its files.
const dyingWait = time.Second

// Recover ends every process of a session on this machine: SIGTERM, Options.RecoverGrace,
// SIGKILL. It returns a description of each once all have ended. It skips processes of
// other users, this program and its ancestors, and the tasks of this executor.
//
// It recognizes a process by RUNNER_SESSION in its environment, by RUNNER_CALLERS if it
// belongs to a pipeline that the session calls, or by output that goes
// into the directory logs, unless logs is "". It does not find a process that cleared its
// environment and writes elsewhere. If a process of another user has a log open, the
// error is an *UnseenError.
func (e *Executor) Recover(ctx context.Context, session, logs string) ([]runner.Leftover, error) {
	if session == "" {
		return nil, errors.New("end the processes of a session: the session has no id")
	}
	r := &recovery{executor: e, mark: sessionMark(session, logs), spared: ancestors(), killAt: time.Now().Add(e.options.RecoverGrace)}
	defer r.close()
	// During exec a process shows no environment for a moment, so that two rounds are
	// needed.
	quiet, began := 0, time.Now()
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		alive, err := r.signalRound()
		if quiet++; alive > 0 {
			quiet = 0
		}
		switch {
		case err == nil && quiet >= 2:
			unseen := checkUnseen(logs)
			if unseen == nil || time.Since(began) > dyingWait {
				return r.found, unseen
			}
			err = sleep(ctx, pause)
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

// Alive returns the processes that Recover would end. It does not report an UnseenError.
func Alive(session, logs string) []runner.Leftover {
	pids, err := allProcesses()
	if err != nil || session == "" {
		return nil
	}
	var alive []runner.Leftover
	spared, mark := ancestors(), sessionMark(session, logs)
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

// recovery is the state of one call of Recover.
type recovery struct {
	executor *Executor
	mark     mark
	spared   map[int]bool
	killAt   time.Time
	handles  []*handle
	found    []runner.Leftover
}

// signalRound sends SIGTERM to new processes of the session, or SIGKILL to all once the
// grace is over, and returns how many are alive.
func (r *recovery) signalRound() (alive int, err error) {
	pids, err := allProcesses()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if r.spared[pid] || r.wasAsked(pid) {
			continue
		}
		h, ok := openHandle(pid, r.mark)
		if !ok {
			continue
		}
		if r.isSupervised(h) {
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
		if h.hasEnded() {
			continue
		}
		alive++
		if kill {
			h.signal(unix.SIGKILL)
		}
	}
	return alive, nil
}

// wasAsked reports whether a process has received SIGTERM and is alive.
func (r *recovery) wasAsked(pid int) bool {
	for _, h := range r.handles {
		if h.info.pid == pid && !h.hasEnded() {
			return true
		}
	}
	return false
}

// isSupervised reports whether a process belongs to a task of this executor.
func (r *recovery) isSupervised(h *handle) bool {
	token, _ := lookUpEnviron(h.environ, tokenVariable)
	return strings.HasPrefix(token, r.executor.tokenPrefix())
}

func (r *recovery) close() {
	for _, h := range r.handles {
		h.close()
	}
}

// ancestors returns the pids of Runner and all its ancestors.
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

// handle refers to a process that is not a child of Runner. A signal through it never
// reaches another process that got the same pid later.
type handle struct {
	info    procInfo
	environ []byte
	fd      int // a pidfd; -1 on kernels without them, where the start time is compared
}

// mark identifies the processes to find.
type mark struct {
	name, value string // a variable in the environment
	logs        string // or a directory that contains the output; "" for none
}

// sessionMark returns the mark of all processes of a session.
func sessionMark(session, logs string) mark {
	if real, err := filepath.EvalSymlinks(logs); err == nil && logs != "" {
		return mark{sessionVariable, session, real}
	}
	return mark{sessionVariable, session, ""}
}

// matches reports whether a process has the mark.
func (m mark) matches(pid int, environ []byte) bool {
	value, ok := lookUpEnviron(environ, m.name)
	callers, _ := lookUpEnviron(environ, runner.CallersVariable)
	return ok && value == m.value || m.name == sessionVariable && slices.Contains(strings.Fields(callers), m.value) || m.logs != "" && writesInto(pid, m.logs)
}

// writesInto reports whether a process has its standard output or error open for writing in
// a directory. A process that only reads a log does not count.
func writesInto(pid int, dir string) bool {
	for _, fd := range []string{"1", "2"} {
		path, err := os.Readlink(procPath(pid, "fd/"+fd))
		if err != nil || filepath.Dir(path) != dir {
			continue
		}
		// The permissions of the link show how the file was opened.
		if info, err := os.Lstat(procPath(pid, "fd/"+fd)); err == nil && info.Mode()&0o200 != 0 {
			return true
		}
	}
	return false
}

// openHandle returns a handle if the process is alive, belongs to Runner's user and has the
// mark. It checks the mark after opening the handle: if the pid was reused before, signals
// go to the process that has ended, and to no other.
func openHandle(pid int, m mark) (*handle, bool) {
	var stat unix.Stat_t
	if unix.Stat(procPath(pid, ""), &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return nil, false
	}
	// Most processes of a machine do not match, so that a cheap check comes first.
	if !m.matches(pid, readEnviron(pid)) {
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
	if !alive || !m.matches(pid, h.environ) {
		h.close()
		return nil, false
	}
	return h, true
}

// signal sends a signal and ignores errors: a process may have ended, and one that cannot
// be signalled shows by staying alive.
func (h *handle) signal(signal syscall.Signal) {
	if h.fd >= 0 {
		_ = unix.PidfdSendSignal(h.fd, signal, nil, 0)
		return
	}
	if !h.hasEnded() {
		_ = syscall.Kill(h.info.pid, signal)
	}
}

// hasEnded reports whether the process has ended. It may be a zombie.
func (h *handle) hasEnded() bool {
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
