//go:build unix

package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// lockLosses returns the ways in which a held lock stops excluding other owners.
func lockLosses(t *testing.T) map[string]func(dir string) {
	t.Helper()
	remove := func(names ...string) func(dir string) {
		return func(dir string) {
			checkpointtest.Must(t, os.RemoveAll(filepath.Join(append([]string{dir}, names...)...)))
		}
	}
	return map[string]func(dir string){
		"deleted": remove("locks", "PRD-009.lock"),
		"made anew": func(dir string) {
			path := filepath.Join(dir, "locks", "PRD-009.lock")
			checkpointtest.Must(t, os.Rename(path, path+".old"))
			checkpointtest.Must(t, os.WriteFile(path, nil, store.FilePerm))
		},
		"the shared one deleted":      remove("locks", "store.lock"),
		"the directory of locks gone": remove("locks"),
		"the state directory moved":   func(dir string) { checkpointtest.Must(t, os.Rename(dir, dir+"-old")) },
		"and made anew": func(dir string) {
			checkpointtest.Must(t, os.Rename(dir, dir+"-old"))
			checkpointtest.Must(t, checkpointtest.On(t, store.OS(), dir).Run().Close())
		},
	}
}

// TestOwnerStopsWhenItsLockIsLost takes away an owner's lock. Whatever the owner does
// next must fail with ErrLockLost, and the owner must not write to the journal, because
// another owner may have read it.
func TestOwnerStopsWhenItsLockIsLost(t *testing.T) {
	t.Parallel()
	acts := map[string]func(x *checkpoint.Session) error{
		"commit": func(x *checkpoint.Session) error {
			x.Add(state.PauseAsked{By: checkpointtest.By})
			_, err := x.Drain(context.Background())
			return err
		},
		"derived": func(x *checkpoint.Session) error { return x.WriteDerived(context.Background()) },
		"inbox":   func(x *checkpoint.Session) error { _, err := x.Requests(); return err },
		"start": func(x *checkpoint.Session) error {
			return x.Start(checkpointtest.Started("S2", checkpointtest.Cashier()))
		},
		"first": func(x *checkpoint.Session) error {
			return x.Start(checkpointtest.Started("S1", checkpointtest.Cashier()))
		},
		"close": func(x *checkpoint.Session) error { return x.Close() },
	}
	for loss, lose := range lockLosses(t) {
		for act, do := range acts {
			t.Run(loss+", "+act, func(t *testing.T) {
				t.Parallel()
				f := checkpointtest.OnDisk(t)
				var x *checkpoint.Session
				if act == "first" {
					x = f.Lock()
				} else {
					x = f.Run()
				}
				lose(f.Dir)
				before, _ := os.ReadFile(filepath.Join(f.Dir, "PRD-009", "journal.jsonl"))
				var poisoned *checkpoint.PoisonedError
				if err := do(x); !errors.As(err, &poisoned) || !errors.Is(err, checkpoint.ErrLockLost) {
					t.Errorf("error %v", err)
				}
				if err := x.Close(); act != "close" && act != "first" && !errors.Is(err, checkpoint.ErrLockLost) {
					t.Errorf("close: %v", err)
				}
				if after, _ := os.ReadFile(filepath.Join(f.Dir, "PRD-009", "journal.jsonl")); string(after) != string(before) {
					t.Error("the owner wrote to the journal")
				}
			})
		}
	}
}

// seizing is a file system that calls seize before each write to the journal, for example
// to take away the lock.
type seizing struct {
	store.FS
	seize func()
}

func (s *seizing) OpenFile(name string, flag int, perm os.FileMode) (store.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	if err != nil || filepath.Base(name) != disk.JournalName || flag&os.O_WRONLY == 0 {
		return f, err
	}
	return &seizedFile{f, s}, nil
}

type seizedFile struct {
	store.File
	by *seizing
}

// Write calls seize before it writes.
func (f *seizedFile) Write(p []byte) (int, error) {
	if f.by.seize != nil {
		f.by.seize()
	}
	return f.File.Write(p)
}

// TestLineIsNotAcknowledgedOnceAnotherMayOwnTheJournal takes away the lock after the
// owner has checked the lock and before the owner writes a line, and lets another owner
// take over. The line must not be acknowledged, and must not be in the other owner's
// journal.
func TestLineIsNotAcknowledgedOnceAnotherMayOwnTheJournal(t *testing.T) {
	t.Parallel()
	fsys := &seizing{FS: store.OS()}
	f := checkpointtest.On(t, fsys, filepath.Join(t.TempDir(), ".runner"))
	x := f.Run()
	acknowledged := x.Durable()
	other := checkpointtest.On(t, store.OS(), f.Dir)
	var y *checkpoint.Session
	fsys.seize = func() {
		if y == nil {
			checkpointtest.Must(t, os.Remove(filepath.Join(f.Dir, "locks", "PRD-009.lock")))
			y = other.Lock()
		}
	}
	x.Add(state.PauseAsked{By: checkpointtest.By, Reason: "late"})
	if commits, err := x.Drain(t.Context()); !errors.Is(err, checkpoint.ErrLockLost) || len(commits) != 0 {
		t.Errorf("acknowledged %d commits: %v", len(commits), err)
	}
	if err := x.Close(); !errors.Is(err, checkpoint.ErrLockLost) {
		t.Errorf("close: %v", err)
	}
	if y == nil || y.Durable() != acknowledged {
		t.Fatal("the other owner did not read exactly the acknowledged commits")
	}
	checkpointtest.Commit(t, y, state.WorkstreamStarted{Workstream: "WS2", Attempt: 1})
	checkpointtest.Must(t, y.Close())
	snap, err := other.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	if snap.State.Seq != acknowledged+1 || snap.State.Requested != nil {
		t.Errorf("the journal is at %d; the request that was not acknowledged: %+v", snap.State.Seq, snap.State.Requested)
	}
}

// slowSync is a file system on which, while slow is set, a sync of the journal closes
// syncing and then waits for synced.
type slowSync struct {
	store.FS
	slow            atomic.Bool
	syncing, synced chan struct{}
}

func (s *slowSync) OpenFile(name string, flag int, perm os.FileMode) (store.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	if err != nil || filepath.Base(name) != disk.JournalName {
		return f, err
	}
	return &slowFile{f, s}, nil
}

type slowFile struct {
	store.File
	fs *slowSync
}

func (f *slowFile) Sync() error {
	if f.fs.slow.Load() {
		close(f.fs.syncing)
		<-f.fs.synced
	}
	return f.File.Sync()
}

// TestSlowSyncLosesNoLock: while a sync of the journal takes very long, the owner must
// keep the lock. A second owner must be refused, a reader must see the session, and the
// sync must complete.
func TestSlowSyncLosesNoLock(t *testing.T) {
	t.Parallel()
	fsys := &slowSync{FS: store.OS(), syncing: make(chan struct{}), synced: make(chan struct{})}
	f := checkpointtest.On(t, fsys, filepath.Join(t.TempDir(), ".runner"))
	x := f.Run()
	fsys.slow.Store(true)
	x.Add(state.PauseAsked{By: checkpointtest.By})
	x.Flush()
	<-fsys.syncing
	later := checkpointtest.On(t, store.OS(), f.Dir)
	later.Options.Now = func() time.Time { return time.Now().AddDate(1, 0, 0) } // the sync has taken a year
	other := later.Open()
	var locked *checkpoint.LockedError
	if _, err := other.Lock(t.Context(), "PRD-009", checkpointtest.By); !errors.As(err, &locked) || locked.Holder.PID != checkpointtest.By.PID {
		t.Errorf("lock: %v", err)
	}
	if snap, err := other.Load("PRD-009"); err != nil || snap.State == nil {
		t.Errorf("load: %v", err)
	}
	fsys.slow.Store(false)
	close(fsys.synced)
	if _, err := x.Drain(t.Context()); err != nil {
		t.Errorf("after the sync: %v", err)
	}
	checkpointtest.Must(t, x.Close())
}

// seizingLink is a file system that removes the file lock once a link was made whose name
// contains of.
type seizingLink struct {
	store.FS
	of   string
	lock string
}

func (s seizingLink) Link(from, to string) error {
	err := s.FS.Link(from, to)
	if err == nil && strings.Contains(to, s.of) {
		err = os.Remove(s.lock)
	}
	return err
}

// TestNothingIsWrittenOnceALostFileCostTheLock removes a checkpoint file, which
// WriteDerived rebuilds first, and takes away the lock during that rebuild. WriteDerived
// must fail, and must not write the checkpoint file that is due after it.
func TestNothingIsWrittenOnceALostFileCostTheLock(t *testing.T) {
	t.Parallel()
	f := checkpointtest.OnDisk(t)
	x := f.Run()
	lost, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(t.Context()))
	checkpointtest.Must(t, x.Close())
	checkpointtest.Must(t, os.Remove(f.Checkpoints().FilePath(lost)))
	x = checkpointtest.On(t, seizingLink{store.OS(), lost, filepath.Join(f.Dir, "locks", "PRD-009.lock")}, f.Dir).Lock()
	due, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	if err := x.WriteDerived(t.Context()); !errors.Is(err, checkpoint.ErrLockLost) {
		t.Errorf("the lock is lost: error %v", err)
	}
	if _, err := os.Lstat(f.Checkpoints().FilePath(due)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the due checkpoint file was written (%v)", err)
	}
	if err := x.Close(); !errors.Is(err, checkpoint.ErrLockLost) {
		t.Errorf("close: %v", err)
	}
}
