package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// settled is all that a cleaning of the scene may leave: the same whatever cut
// it short.
func settled(t *testing.T, when string, c *scene, want string) {
	t.Helper()
	ctx := context.Background()
	s := c.open()
	needsWhole(t, s, "PRD-009")
	x, err := s.Lock(ctx, "PRD-009", by)
	if err != nil {
		t.Fatalf("%s: lock: %v", when, err)
	}
	if x.State() != nil {
		if _, err := x.Prune(ctx, PruneOptions{}); err != nil {
			t.Fatalf("%s: prune again: %v", when, err)
		}
	}
	must(t, x.Close())
	if _, err := s.Collect(ctx, nil); err != nil {
		t.Fatalf("%s: collect again: %v", when, err)
	}
	needsWhole(t, s, "PRD-009")
	if got := has(t, s, c.artifacts...); got != want {
		t.Fatalf("%s: objects %s, not %s", when, got, want)
	}
	if isThere(t, s, s.layout.TrashPath()) || isThere(t, s, s.layout.DeletingPath("PRD-009")) {
		t.Fatalf("%s: something is left of what was deleted", when)
	}
}

// TestCleaningCutShort ends pruning, deleting and collecting at each change of
// the disk, by a fault that stays and by a power cut: what is kept is whole,
// and doing it again completes it.
func TestCleaningCutShort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		want string
		do   func(ctx context.Context, s *Store) error
	}{
		"prune":         {"001", pruneAll},
		"tidy":          {"001", tidyAll},
		"deletesession": {"001", deleteAll},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := int64(1); cutAt(t, name, n, test.want, test.do); n++ {
			}
		})
	}
}

func pruneAll(ctx context.Context, s *Store) error {
	x, err := s.Lock(ctx, "PRD-009", by)
	if err != nil {
		return err
	}
	_, err = x.Prune(ctx, PruneOptions{})
	if err = errors.Join(err, x.Close()); err != nil {
		return err
	}
	_, err = s.Collect(ctx, nil)
	return err
}

func tidyAll(ctx context.Context, s *Store) error {
	x, err := s.Lock(ctx, "PRD-009", by)
	if err != nil {
		return err
	}
	_, err = x.Tidy(ctx, nil)
	return errors.Join(err, x.Close())
}

func deleteAll(ctx context.Context, s *Store) error {
	if err := s.DeleteSession(ctx, "PRD-009", by); err != nil {
		return err
	}
	_, err := s.Collect(ctx, nil)
	return err
}

// cutAt reports whether the nth change was reached.
func cutAt(t *testing.T, name string, n int64, want string, do func(context.Context, *Store) error) bool {
	t.Helper()
	m := store.NewMemory()
	c := newScene(t, m)
	if name == "deletesession" { // what must stay is in the history
		x := lockPRD(t, c.open(), "PRD-009")
		commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
		_, err := x.Prune(context.Background(), PruneOptions{})
		must(t, err)
		must(t, x.Start(startedOf("PRD-009", "S2", 1)))
		produce(t, x, "w0", c.artifacts[1])
		must(t, x.Close())
	}
	var cut *store.Memory
	d := &faults.Killed{FS: m, At: n, Before: func() { cut = m.Crash() }}
	c.o.FS = d
	err := do(context.Background(), c.open())
	when := fmt.Sprintf("%s, change %d", name, n)
	if d.Count.Load() < n {
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		return false
	}
	for plane, fsys := range map[string]store.FS{"fault": m, "power cut": cut} {
		again := *c
		again.fixture = on(t, unlocked{fsys}, c.dir)
		again.o.Now, again.o.Policy = c.o.Now, c.o.Policy
		if name == "deletesession" {
			s := again.open()
			if !isThere(t, s, s.layout.JournalPath("PRD-009")) || isThere(t, s, s.layout.DeletingPath("PRD-009")) {
				// It is gone.
			} else if err := s.DeleteSession(context.Background(), "PRD-009", by); err != nil {
				t.Fatalf("%s, %s: delete again: %v", when, plane, err)
			}
		}
		settled(t, when+", "+plane, &again, want)
	}
	return true
}

// unlocked is the file system after the process that held locks on it has
// ended, which the file system in memory does not know.
type unlocked struct{ store.FS }

func (u unlocked) TryLock(name string, shared bool) (store.Lock, error) {
	lock, err := u.FS.TryLock(name, shared)
	if errors.Is(err, store.ErrLocked) {
		return freeLock{}, nil
	}
	return lock, err
}

type freeLock struct{}

func (freeLock) Check() error  { return nil }
func (freeLock) Unlock() error { return nil }

// TestUnknownIsNotAbsent: what cannot be looked at is not taken for missing, so
// that finishing earlier work loses no session.
func TestUnknownIsNotAbsent(t *testing.T) {
	t.Parallel()
	for name, dirOf := range map[string]func(s *Store) string{
		"deleting":  func(s *Store) string { return s.layout.DeletingPath("PRD-009") },
		"archiving": func(s *Store) string { return s.layout.ArchivingPath("PRD-009") },
		"importing": func(s *Store) string { return s.layout.ImportingPath("PRD-009") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory()
			c := newScene(t, m)
			x := lockPRD(t, c.open(), "PRD-009")
			commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			must(t, x.Start(startedOf("PRD-009", "S2", 1))) // S1 is in its history
			must(t, x.Close())
			s := c.open()
			dir := dirOf(s)
			must(t, m.Remove(s.layout.DocumentPath("PRD-009")))
			must(t, m.Rename(s.layout.PRDDir("PRD-009"), dir))
			if name == "importing" { // one has no history, and finds one
				must(t, store.MkdirAll(m, s.layout.PRDDir("PRD-009")))
				must(t, m.Rename(filepath.Join(dir, disk.HistoryDir), s.layout.HistoryPath("PRD-009")))
				must(t, m.SyncDir(s.layout.PRDDir("PRD-009")))
				must(t, m.SyncDir(dir))
			}
			must(t, m.SyncDir(s.layout.Path))
			want := map[string]int{"deleting": 1, "archiving": 2, "importing": 2}[name]
			for at := int64(1); ; at++ {
				disk := m.Crash()
				flaky := &faults.FailingOnce{FS: disk, At: at}
				c.fixture = on(t, flaky, c.dir)
				if s, err := OpenStore(c.dir, c.o); err == nil {
					if x, err := s.Lock(context.Background(), "PRD-009", by); err == nil {
						_ = x.Close() // which may fail, too
					}
				}
				c.fixture = on(t, unlocked{disk}, c.dir)
				must(t, lockPRD(t, c.open(), "PRD-009").Close())
				sessions, err := c.open().Sessions("PRD-009")
				must(t, err)
				if len(sessions) != want {
					t.Fatalf("operation %d failed: %d sessions are left of %d", at, len(sessions), want)
				}
				if flaky.Count.Load() < at {
					break
				}
			}
		})
	}
}
