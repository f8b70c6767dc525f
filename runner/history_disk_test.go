//go:build unix

package runner_test

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"prdrunner/checkpoint/store"
)

// A disk whose process dies.

// errDead is what a process that is killed gets to see of its disk.
var errDead = errors.New("the process is dead")

// mortal is a disk in memory. With the nth operation that writes, the process
// dies: what is durable then is what there will be.
type mortal struct {
	*store.Memory

	mu    sync.Mutex
	left  int // 0: it lives on
	dead  bool
	after *store.Memory // what the next process finds
	died  func()
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
	return mortalFile{f, m}, nil
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
}

func (f mortalFile) Write(p []byte) (int, error) {
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
