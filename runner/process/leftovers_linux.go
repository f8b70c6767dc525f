package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prdrunner/runner"
)

const (
	shortPause, longPause = time.Millisecond, 20 * time.Millisecond

	// sureLooks is how often an orphan that shows no owner is looked at before
	// it counts as another task's: for an instant of exec no process shows one.
	sureLooks = 4
)

// owner says whose an orphan is.
type owner int

const (
	ofTask    owner = iota // the task that is ending, or one that has ended
	ofAnother              // a task that is still running
	ofUnknown              // it shows no owner, and may be of a task that is still running
	ofNobody               // not an orphan of a task: the program started it otherwise
)

// leftovers is the search for the orphans of one task that is ending. The main
// process is a zombie all the while, so its group stays its own.
type leftovers struct {
	task     *task
	settled  time.Time // from then on, who is alive is reported
	killAt   time.Time
	stopped  bool           // the group and the stragglers were asked to end already
	asked    map[int]bool   // pids, or negative groups, that were asked to end
	reported map[int]uint64 // pid to start time
	found    []runner.Leftover
}

// endLeftovers ends the processes that the task left behind, and reaps those
// that ended by themselves. Nearly always there are none, which costs one read.
func (e *Executor) endLeftovers(t *task) ([]runner.Leftover, error) {
	e.mu.Lock()
	pids, err := e.system.orphans()
	e.mu.Unlock()
	if err != nil || len(pids) == 0 {
		return nil, err
	}
	now := time.Now()
	l := &leftovers{task: t, settled: now.Add(e.settle), asked: map[int]bool{}, reported: map[int]uint64{}}
	l.killAt = l.settled.Add(t.work.Grace)
	if stopped, killAt := t.stopped(); stopped {
		l.stopped, l.killAt = true, killAt
		l.asked[-t.pid] = true
		for pid := range t.asked {
			l.asked[pid] = true
		}
	}
	for pause, looks := shortPause, 1; ; pause, looks = min(2*pause, longPause), looks+1 {
		alive, unknown, err := e.endRound(l)
		if err != nil || alive == 0 && (unknown == 0 || looks >= sureLooks) {
			return l.found, err
		}
		if time.Since(l.killAt) > killWait {
			return l.found, fmt.Errorf("%w: %d of task %q", ErrUnkillable, alive, t.work.ID)
		}
		time.Sleep(pause)
	}
}

// endRound looks at every orphan once and returns how many of the task's are
// still alive, and of how many it does not know whose they are. Ending some
// reveals their children to the next round.
func (e *Executor) endRound(l *leftovers) (alive, unknown int, err error) {
	e.forks.Lock()
	defer e.forks.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	pids, err := e.system.orphans()
	if err != nil {
		return 0, 0, err
	}
	if e.closed {
		l.killAt = earlier(l.killAt, time.Now())
	}
	killed := map[int]bool{}
	for _, pid := range pids {
		if e.running[pid] != nil {
			continue
		}
		info, ok := readProc(pid)
		if !ok {
			continue
		}
		environ := readEnviron(pid)
		whose := e.ownerOf(info, environ, l.task)
		// A zombie that can't be reaped yet has other threads that live on.
		if whose == ofNobody || info.zombie && reapNow(pid) {
			continue
		}
		switch whose {
		case ofTask:
			alive++
			e.endOne(l, info, environ, killed)
		case ofUnknown:
			unknown++
		case ofAnother, ofNobody:
		}
	}
	return alive, unknown, nil
}

// endOne does what is due to one orphan of the task. It is our child and is not
// reaped meanwhile (that takes e.mu), so its pid is its own.
func (e *Executor) endOne(l *leftovers, info procInfo, environ []byte, killed map[int]bool) {
	now := time.Now()
	settled, kill := !now.Before(l.settled), !now.Before(l.killAt)
	if began, ok := l.reported[info.pid]; (settled || kill) && (!ok || began != info.began) {
		l.reported[info.pid] = info.began
		l.found = append(l.found, e.describe(info, environ, l.task.work.Mask))
	}
	target := info.pid
	switch info.group {
	case l.task.pid, info.pid:
		target = -info.group
	}
	switch {
	case kill && !killed[target]:
		killed[target] = true
		e.signalOrphan(target, syscall.SIGKILL)
	case !kill && (settled || l.stopped) && !l.asked[target] && !l.asked[info.pid]:
		l.asked[target] = true
		e.signalOrphan(target, syscall.SIGTERM)
		e.signalOrphan(target, syscall.SIGCONT)
	}
}

func (e *Executor) signalOrphan(target int, signal syscall.Signal) {
	if err := syscall.Kill(target, signal); err != nil && err != syscall.ESRCH {
		e.options.Logger.Warn("cannot signal a leftover process", "pid", target, "signal", unix.SignalName(signal), "error", err)
	}
}

// ownerOf decides whose an orphan is, by its token, else by its process group,
// else by its age: one that shows neither can only belong to a task that is
// older, and the last of these to end takes it along. The caller holds e.mu.
func (e *Executor) ownerOf(info procInfo, environ []byte, ending *task) owner {
	token, _ := lookUpEnviron(environ, tokenVariable)
	switch {
	case token == ending.token:
		return ofTask
	case strings.HasPrefix(token, e.tokenPrefix()):
		for _, t := range e.running {
			if t.token == token {
				return ofAnother
			}
		}
		return ofTask
	case strings.HasPrefix(token, fmt.Sprintf("%d-", e.system.pid)):
		return ofNobody // another executor's
	case info.group == ending.pid:
		return ofTask
	case e.running[info.group] != nil:
		return ofAnother
	case info.group == e.system.group:
		return ofNobody
	case e.system.pid == 1:
		return ofUnknown // as init we get everyone's orphans
	}
	if ending.age() > info.began {
		return ofUnknown
	}
	for _, t := range e.running {
		if t != ending && t.age() <= info.began {
			return ofUnknown
		}
	}
	return ofTask
}

// age returns when the main process began, in clock ticks since boot. The
// caller holds e.mu and the task is registered, so its pid is its own.
func (t *task) age() uint64 {
	if t.began == 0 {
		info, _ := readProc(t.pid)
		t.began = info.began
	}
	return t.began
}

// reapNow reaps a child if it has ended.
func reapNow(pid int) bool {
	for {
		reaped, err := syscall.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
		if err != syscall.EINTR {
			return err != nil || reaped == pid
		}
	}
}

// askStragglers sends SIGTERM to the processes of a running task that have left
// its group, and returns their pids. The rest is found when the main process has
// ended. The caller holds t.mu.
func (t *task) askStragglers() map[int]bool {
	asked := map[int]bool{}
	pids, err := allProcesses()
	if err != nil {
		t.executor.options.Logger.Warn("cannot look for processes that left their group", "error", err)
	}
	for _, pid := range pids {
		if pid == t.pid || pid == os.Getpid() {
			continue
		}
		if group, err := unix.Getpgid(pid); err != nil || group == t.pid {
			continue
		}
		h, ok := openHandle(pid, mark{name: tokenVariable, value: t.token})
		if !ok {
			continue
		}
		h.signal(unix.SIGTERM)
		h.signal(unix.SIGCONT)
		h.close()
		asked[pid] = true
	}
	return asked
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
