//go:build unix

package runner_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"prdrunner/checkpoint/store"
)

// A disk that simulates the death of the process.

// errDead is the error of every operation after the death of the process.
var errDead = errors.New("the process is dead")

// mortal is a disk in memory. At the nth operation that writes, the process dies: the
// next process finds what was durable then.
type mortal struct {
	*store.Memory

	mu    sync.Mutex
	left  int // 0: the process does not die
	dead  bool
	after *store.Memory // the disk that the next process finds
	died  func()

	dying func() bool   // reports whether the process is about to die in a task that begins
	ended chan struct{} // closed when the process is dead
}

// holdStart is how long a start is held back from the journal, so that the process can
// die in the task first. A task that waits for its start to be durable begins only after
// that time; other tasks begin at once.
const holdStart = 50 * time.Millisecond

// hold holds back the start of the task in which the process dies, so that the process
// dies before the start is durable, unless the task waits for its start. Without hold,
// the order would be random.
func (m *mortal) hold(name string, line []byte) {
	if filepath.Base(name) != "journal.jsonl" || !bytes.Contains(line, []byte(`.started"`)) || !m.dying() {
		return
	}
	bound := time.NewTimer(holdStart)
	defer bound.Stop()
	select {
	case <-m.ended:
	case <-bound.C:
	}
}

func (m *mortal) step() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	if m.left == 0 {
		return nil
	}
	if m.left--; m.left == 0 {
		m.die()
		return errDead
	}
	return nil
}

// die ends the process; the caller holds the mutex.
func (m *mortal) die() {
	m.dead, m.after = true, m.Crash()
	m.died()
	close(m.ended)
}

// kill ends the process now, unless it is dead already.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dead {
		m.die()
	}
}

func (m *mortal) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if flag != os.O_RDONLY {
		if err := m.step(); err != nil {
			return nil, err
		}
	}
	f, err := m.Memory.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return mortalFile{f, m, name}, nil
}

func (m *mortal) Rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Memory.Rename(from, to)
}

func (m *mortal) SyncDir(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.Memory.SyncDir(name)
}

type mortalFile struct {
	store.File
	disk *mortal
	name string
}

func (f mortalFile) Write(p []byte) (int, error) {
	f.disk.hold(f.name, p)
	if err := f.disk.step(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f mortalFile) Sync() error {
	if err := f.disk.step(); err != nil {
		return err
	}
	return f.File.Sync()
}
