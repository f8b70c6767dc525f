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

	// maxUnknownRounds is how many rounds an orphan without a known owner is examined
	// before it counts as another task's. During exec a process shows no owner for a
	// moment.
	maxUnknownRounds = 4
)

// owner is the result of ownerOf.
type owner int

const (
	ownedByTask    owner = iota // an orphan of the ending task, or of a task that has ended
	ownedByAnother              // an orphan of a running task
	ownerUnknown                // an orphan without a known owner, perhaps of a running task
	notATask                    // not an orphan of a task: Runner started it in another way
)

// leftovers holds the state of the search for the orphans of one ending task. The main
// process is a zombie meanwhile, so that its group keeps its number.
type leftovers struct {
	task       *task
	reportFrom time.Time // processes that are alive from then on are reported
	killAt     time.Time
	stopped    bool           // the group and the stragglers have received SIGTERM
	signalled  map[int]bool   // pids, or negative groups, that have received SIGTERM
	reported   map[int]uint64 // pid to start time
	found      []runner.Leftover
}

// endLeftovers ends the processes that the task left behind, and reaps those that have
// ended. Usually there is no such process; to find that out takes one read.
func (e *Executor) endLeftovers(t *task) ([]runner.Leftover, error) {
	e.mu.Lock()
	pids, err := e.system.orphans()
	e.mu.Unlock()
	if err != nil || len(pids) == 0 {
		return nil, err
	}
	now := time.Now()
	l := &leftovers{task: t, reportFrom: now.Add(e.leftoverDelay), signalled: map[int]bool{}, reported: map[int]uint64{}}
	l.killAt = l.reportFrom.Add(t.work.Grace)
	if stopped, killAt := t.stopped(); stopped {
		l.stopped, l.killAt = true, killAt
		l.signalled[-t.pid] = true
		for pid := range t.signalled {
			l.signalled[pid] = true
		}
	}
	for pause, looks := shortPause, 1; ; pause, looks = min(2*pause, longPause), looks+1 {
		alive, unknown, err := e.endOnce(l)
		if err != nil || alive == 0 && (unknown == 0 || looks >= maxUnknownRounds) {
			return l.found, err
		}
		if time.Since(l.killAt) > killWait {
			return l.found, fmt.Errorf("%w: %d of task %q", ErrUnkillable, alive, t.work.ID)
		}
		time.Sleep(pause)
	}
}

// endOnce examines every orphan once. It returns how many of the task's orphans are alive,
// and how many orphans have an unknown owner. Orphans that end may reveal their children in
// the next round.
func (e *Executor) endOnce(l *leftovers) (alive, unknown int, err error) {
	e.forks.Lock()
	defer e.forks.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	pids, err := e.system.orphans()
	if err != nil {
		return 0, 0, err
	}
	if e.closed {
		l.killAt = earlierTime(l.killAt, time.Now())
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
		// A zombie that cannot be reaped yet has running threads.
		if whose == notATask || info.zombie && reapNow(pid) {
			continue
		}
		switch whose {
		case ownedByTask:
			alive++
			e.signalOne(l, info, environ, killed)
		case ownerUnknown:
			unknown++
		case ownedByAnother, notATask:
		}
	}
	return alive, unknown, nil
}

// signalOne sends an orphan of the task the signal that is due. The orphan is our child,
// and e.mu keeps it from being reaped, so that its pid stays valid.
func (e *Executor) signalOne(l *leftovers, info procInfo, environ []byte, killed map[int]bool) {
	now := time.Now()
	overdue, kill := !now.Before(l.reportFrom), !now.Before(l.killAt)
	if began, ok := l.reported[info.pid]; (overdue || kill) && (!ok || began != info.began) {
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
	case !kill && (overdue || l.stopped) && !l.signalled[target] && !l.signalled[info.pid]:
		l.signalled[target] = true
		e.signalOrphan(target, syscall.SIGTERM)
		e.signalOrphan(target, syscall.SIGCONT)
	}
}

func (e *Executor) signalOrphan(target int, signal syscall.Signal) {
	if err := syscall.Kill(target, signal); err != nil && err != syscall.ESRCH {
		e.options.Logger.Warn("cannot signal a leftover process", "pid", target, "signal", unix.SignalName(signal), "error", err)
	}
}

// ownerOf finds the owner of an orphan by its token, else by its process group, else by its
// age. An orphan without token or group can only belong to a task that is older, and the
// last of the older tasks to end takes it. The caller holds e.mu.
func (e *Executor) ownerOf(info procInfo, environ []byte, ending *task) owner {
	token, _ := lookUpEnviron(environ, tokenVariable)
	switch {
	case token == ending.token:
		return ownedByTask
	case strings.HasPrefix(token, e.tokenPrefix()):
		for _, t := range e.running {
			if t.token == token {
				return ownedByAnother
			}
		}
		return ownedByTask
	case strings.HasPrefix(token, fmt.Sprintf("%d-", e.system.pid)):
		return notATask // of another executor
	case info.group == ending.pid:
		return ownedByTask
	case e.running[info.group] != nil:
		return ownedByAnother
	case info.group == e.system.group:
		return notATask
	case e.system.pid == 1:
		return ownerUnknown // the init process gets the orphans of all programs
	}
	if ending.startTicks() > info.began {
		return ownerUnknown
	}
	for _, t := range e.running {
		if t != ending && t.startTicks() <= info.began {
			return ownerUnknown
		}
	}
	return ownedByTask
}

// startTicks returns when the main process began, in clock ticks since boot. The caller
// holds e.mu and the task is registered, so that its pid is valid.
func (t *task) startTicks() uint64 {
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

// askStragglers sends SIGTERM to the processes of a running task that have left its group,
// and returns their pids. endLeftovers finds all others. The caller holds t.mu.
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

func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
