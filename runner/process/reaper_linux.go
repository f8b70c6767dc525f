package process

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper reaps the orphans that end while their task runs. Without it they stay zombies
// until the next task ends, and a program that waits for one of them with kill(pid, 0)
// waits in vain.
type reaper struct {
	signals chan os.Signal
	ended   sync.WaitGroup
}

// startReaper begins to reap. Without the kernel's list of children each signal would cost a
// search of all of /proc, so that orphans then wait for the end of a task.
func (e *Executor) startReaper() {
	if e.system.children < 0 {
		return
	}
	e.reaper.signals = make(chan os.Signal, 1)
	signal.Notify(e.reaper.signals, unix.SIGCHLD)
	e.reaper.ended.Go(func() {
		for range e.reaper.signals {
			e.reapOrphans()
		}
	})
}

// stopReaper returns when nothing is reaped any more.
func (e *Executor) stopReaper() {
	if e.reaper.signals == nil {
		return
	}
	signal.Stop(e.reaper.signals)
	close(e.reaper.signals)
	e.reaper.ended.Wait()
}

// reapOrphans reaps each orphan that has ended. It leaves the main processes of tasks, and
// programs that Runner started in another way, to those who wait for them.
func (e *Executor) reapOrphans() {
	e.mu.Lock()
	defer e.mu.Unlock()
	pids, err := e.system.orphans()
	if err != nil {
		e.options.Logger.Warn("cannot look for orphans that have ended", "error", err)
	}
	for _, pid := range pids {
		if e.running[pid] != nil {
			continue
		}
		if info, ok := readProc(pid); ok && info.zombie && info.group != e.system.group {
			reapNow(pid)
		}
	}
}
