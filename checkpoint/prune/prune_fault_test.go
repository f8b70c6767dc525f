package prune_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// settled prunes and collects again after a cleaning was cut short. The state and the
// checkpoints must be whole, exactly the artifacts in want must remain, and no deleted
// directory.
func settled(t *testing.T, when string, c *scene, want string) {
	t.Helper()
	ctx := context.Background()
	s := c.Open()
	checkpointtest.NeedsWhole(t, s, "PRD-009")
	x, err := s.Lock(ctx, "PRD-009", checkpointtest.By)
	if err != nil {
		t.Fatalf("%s: lock: %v", when, err)
	}
	if x.State() != nil {
		if _, err := prune.Run(ctx, x, prune.Options{}); err != nil {
			t.Fatalf("%s: prune again: %v", when, err)
		}
	}
	checkpointtest.Must(t, x.Close())
	if _, err := prune.Collect(ctx, s, nil); err != nil {
		t.Fatalf("%s: collect again: %v", when, err)
	}
	checkpointtest.NeedsWhole(t, s, "PRD-009")
	if got := checkpointtest.Has(t, s, c.artifacts...); got != want {
		t.Fatalf("%s: objects %s, want %s", when, got, want)
	}
	if checkpointtest.IsThere(t, s, s.Layout().TrashPath()) || checkpointtest.IsThere(t, s, s.Layout().DeletingPath("PRD-009")) {
		t.Fatalf("%s: a part of the deleted files remains", when)
	}
}

// TestCleaningCutShort ends pruning, tidying, deleting and collecting at each change of
// the disk, by a fault and by a power cut. What is kept must be whole, and repeating the
// operation must complete it.
func TestCleaningCutShort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		want string
		do   func(ctx context.Context, s *checkpoint.Store) error
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

func pruneAll(ctx context.Context, s *checkpoint.Store) error {
	x, err := s.Lock(ctx, "PRD-009", checkpointtest.By)
	if err != nil {
		return err
	}
	_, err = prune.Run(ctx, x, prune.Options{})
	if err = errors.Join(err, x.Close()); err != nil {
		return err
	}
	_, err = prune.Collect(ctx, s, nil)
	return err
}

func tidyAll(ctx context.Context, s *checkpoint.Store) error {
	x, err := s.Lock(ctx, "PRD-009", checkpointtest.By)
	if err != nil {
		return err
	}
	_, err = prune.Tidy(ctx, x, nil)
	return errors.Join(err, x.Close())
}

func deleteAll(ctx context.Context, s *checkpoint.Store) error {
	if err := s.DeleteSession(ctx, "PRD-009", checkpointtest.By); err != nil {
		return err
	}
	_, err := prune.Collect(ctx, s, nil)
	return err
}

// cutAt ends an operation at its nth change of the disk. It returns false if the
// operation has fewer changes.
func cutAt(t *testing.T, name string, n int64, want string, do func(context.Context, *checkpoint.Store) error) bool {
	t.Helper()
	m := store.NewMemory()
	c := newScene(t, m)
	if name == "deletesession" { // what must stay is in the archived session S1
		x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
		checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
		_, err := prune.Run(context.Background(), x, prune.Options{})
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S2", 1)))
		checkpointtest.Produce(t, x, "w0", c.artifacts[1])
		checkpointtest.Must(t, x.Close())
	}
	var cut *store.Memory
	d := &faults.Killed{FS: m, At: n, Before: func() { cut = m.Crash() }}
	c.Options.FS = d
	err := do(context.Background(), c.Open())
	when := fmt.Sprintf("%s, change %d", name, n)
	if d.Count.Load() < n {
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		return false
	}
	for plane, fsys := range map[string]store.FS{"fault": m, "power cut": cut} {
		again := *c
		again.Fixture = checkpointtest.On(t, faults.Unlocked{FS: fsys}, c.Dir)
		again.Options.Now, again.Options.Policy = c.Options.Now, c.Options.Policy
		if name == "deletesession" {
			s := again.Open()
			if !checkpointtest.IsThere(t, s, s.Layout().JournalPath("PRD-009")) || checkpointtest.IsThere(t, s, s.Layout().DeletingPath("PRD-009")) {
				// The session is deleted, or its deletion has begun.
			} else if err := s.DeleteSession(context.Background(), "PRD-009", checkpointtest.By); err != nil {
				t.Fatalf("%s, %s: delete again: %v", when, plane, err)
			}
		}
		settled(t, when+", "+plane, &again, want)
	}
	return true
}

// TestUnknownIsNotAbsent makes each file operation fail once while an owner finishes an
// interrupted deletion, archiving or import. A path that the owner can't inspect must not
// count as missing: no session may be lost except the deleted one.
func TestUnknownIsNotAbsent(t *testing.T) {
	t.Parallel()
	for name, dirOf := range map[string]func(s *checkpoint.Store) string{
		"deleting":  func(s *checkpoint.Store) string { return s.Layout().DeletingPath("PRD-009") },
		"archiving": func(s *checkpoint.Store) string { return s.Layout().ArchivingPath("PRD-009") },
		"importing": func(s *checkpoint.Store) string { return s.Layout().ImportingPath("PRD-009") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory()
			c := newScene(t, m)
			x := checkpointtest.LockPRD(t, c.Open(), "PRD-009")
			checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: "all"}, state.SessionCompleted{})
			checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-009", "S2", 1))) // S1 is in its history
			checkpointtest.Must(t, x.Close())
			s := c.Open()
			dir := dirOf(s)
			checkpointtest.Must(t, m.Remove(s.Layout().DocumentPath("PRD-009")))
			checkpointtest.Must(t, m.Rename(s.Layout().PRDDir("PRD-009"), dir))
			if name == "importing" { // an import has no history; the PRD that it replaces has one
				checkpointtest.Must(t, store.MkdirAll(m, s.Layout().PRDDir("PRD-009")))
				checkpointtest.Must(t, m.Rename(filepath.Join(dir, disk.HistoryDir), s.Layout().HistoryPath("PRD-009")))
				checkpointtest.Must(t, m.SyncDir(s.Layout().PRDDir("PRD-009")))
				checkpointtest.Must(t, m.SyncDir(dir))
			}
			checkpointtest.Must(t, m.SyncDir(s.Layout().Path))
			want := map[string]int{"deleting": 1, "archiving": 2, "importing": 2}[name]
			for at := int64(1); ; at++ {
				disk := m.Crash()
				flaky := &faults.FailingOnce{FS: disk, At: at}
				c.Fixture = checkpointtest.On(t, flaky, c.Dir)
				if s, err := checkpoint.OpenStore(c.Dir, c.Options); err == nil {
					if x, err := s.Lock(context.Background(), "PRD-009", checkpointtest.By); err == nil {
						_ = x.Close() // this may fail, too
					}
				}
				c.Fixture = checkpointtest.On(t, faults.Unlocked{FS: disk}, c.Dir)
				checkpointtest.Must(t, checkpointtest.LockPRD(t, c.Open(), "PRD-009").Close())
				sessions, err := c.Open().Reader().Sessions("PRD-009")
				checkpointtest.Must(t, err)
				if len(sessions) != want {
					t.Fatalf("operation %d failed: %d of %d sessions remain", at, len(sessions), want)
				}
				if flaky.Count.Load() < at {
					break
				}
			}
		})
	}
}
