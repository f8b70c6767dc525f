package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// Collected is the result of a collection, or of its plan.
type Collected struct {
	Objects   int
	Leftovers int      // temporary files of interrupted writers
	Discarded int      // directories of deleted sessions and interrupted imports
	Bytes     int64    // bytes on disk of all of the above
	Refs      []string // git references
	Kept      int      // number of objects that stay
}

// NotCollectedError is returned if nothing was collected: Runner can't find out what a
// session needs, or another process holds a lock.
type NotCollectedError struct{ Err error }

func (e *NotCollectedError) Error() string {
	return fmt.Sprintf("nothing was collected: %v", e.Err)
}

func (e *NotCollectedError) Unwrap() error { return e.Err }

// Collect removes the objects that nothing refers to, the git references that no kept
// capture names, and the trash with deleted sessions. It holds the exclusive lock of the
// state directory. If another process holds a lock, the error wraps a *LockedError. If
// Runner can't find out what a session needs, Collect removes nothing. Both errors are
// wrapped in a *NotCollectedError. After a crash the next collection removes the rest.
//
// If w is nil, git is not known, and its references stay.
func (s *Store) Collect(ctx context.Context, w *workspace.Workspace) (Collected, error) {
	if there, err := s.layout.Exists(s.layout.Path); err != nil || !there {
		return Collected{}, err
	}
	only, err := s.LockExclusively()
	if err != nil {
		var locked *LockedError
		if errors.As(err, &locked) {
			err = &NotCollectedError{err}
		}
		return Collected{}, err
	}
	done, err := s.collectLocked(ctx, w)
	return done, errors.Join(err, only.Unlock())
}

// collectLocked does the work of Collect. The caller holds the exclusive lock.
func (s *Store) collectLocked(ctx context.Context, w *workspace.Workspace) (Collected, error) {
	inv, err := s.ReadInventory(ctx, Removed{})
	if err != nil {
		return Collected{}, &NotCollectedError{err}
	}
	return s.remove(ctx, w, inv, false)
}

// PlanCollect returns what a collection would remove after the planned pruning. It takes
// no lock and changes nothing.
func (s *Store) PlanCollect(ctx context.Context, w *workspace.Workspace, planned ...*Pruned) (done Collected, err error) {
	without := Removed{Checkpoints: map[string]bool{}, Sessions: map[string]bool{}}
	var discarded Collected // what pruning will move to the trash
	for _, p := range planned {
		for _, c := range p.Checkpoints {
			without.Checkpoints[c.ID] = true
		}
		for _, r := range p.Sessions {
			without.Sessions[r.ID] = true
			discarded.Discarded++
			discarded.Bytes += r.Bytes
		}
	}
	err = s.RereadIfChanged("", func() error {
		inv, err := s.ReadInventory(ctx, without)
		if err != nil {
			return &NotCollectedError{err}
		}
		done, err = s.remove(ctx, w, inv, true)
		done.Discarded += discarded.Discarded
		done.Bytes += discarded.Bytes
		return err
	})
	return done, err
}

// remove removes what an inventory does not need. The order matters: references of git
// come first, because they keep commits that nothing else names. Then come objects. The
// trash comes last, because its journals name the sessions whose references may be
// removed.
func (s *Store) remove(ctx context.Context, w *workspace.Workspace, inv *Inventory, dryRun bool) (done Collected, err error) {
	if done.Refs, err = s.removeRefs(ctx, w, inv, dryRun); err != nil {
		return done, err
	}
	swept, err := s.Objects().Sweep(ctx, inv.Needs, dryRun)
	done.Objects, done.Leftovers, done.Bytes, done.Kept = swept.Objects, swept.Leftovers, swept.Bytes, swept.Kept
	if err != nil {
		return done, err
	}
	if err := s.removeShared(&done, dryRun); err != nil {
		return done, err
	}
	discarded, err := s.layout.Directories(s.layout.TrashPath())
	if err != nil {
		return done, err
	}
	trash, err := s.layout.TreeSize(s.layout.TrashPath())
	if err != nil {
		return done, err
	}
	done.Discarded = len(discarded)
	done.Bytes += trash
	if dryRun {
		return done, nil
	}
	return done, s.layout.EmptyTrash()
}

// removeShared removes leftover temporary files that belong to no single PRD. It needs the
// exclusive lock, because the holder of a PRD's lock can't know whether the owner of
// another PRD is writing them.
func (s *Store) removeShared(done *Collected, dryRun bool) error {
	entries, err := s.fs.ReadDir(s.layout.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for what was cut short: %w", err)
	}
	for _, e := range entries {
		if !store.IsTempOf(e.Name(), disk.CacheName) && !store.IsTempOf(e.Name(), disk.IgnoreName) {
			continue
		}
		size, err := s.layout.EntrySize(s.layout.Path, e)
		if err == nil && !dryRun {
			err = s.fs.Remove(filepath.Join(s.layout.Path, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what was cut short: %w", err)
		}
		done.Leftovers++
		done.Bytes += size
	}
	return nil
}

// removeRefs removes the git references of this state directory's sessions that are not
// needed. It leaves references that belong to another state directory, even if that one
// has the same session.
func (s *Store) removeRefs(ctx context.Context, w *workspace.Workspace, inv *Inventory, dryRun bool) ([]string, error) {
	if w == nil || w.Repository() == nil {
		return nil, nil
	}
	ours := inv.Sessions
	if err := s.addDiscarded(ours); err != nil {
		return nil, err
	}
	all, err := w.Repository().Refs(ctx, strings.TrimSuffix(disk.CaptureRefsRoot, "/"))
	if err != nil {
		return nil, fmt.Errorf("look for captures in git: %w", err)
	}
	var unneeded []string
	for ref := range all {
		own, err := s.layout.OwnsRef(ours, ref)
		if err != nil {
			return nil, err
		}
		if own && !inv.Refs[disk.RefKey(ref)] {
			unneeded = append(unneeded, ref)
		}
	}
	slices.Sort(unneeded)
	if dryRun || len(unneeded) == 0 {
		return unneeded, nil
	}
	if err := w.Repository().DeleteRefs(ctx, unneeded); err != nil {
		return nil, fmt.Errorf("remove captures from git: %w", err)
	}
	return unneeded, nil
}

// addDiscarded adds the sessions in the trash. It skips sessions that can't be read any
// more.
func (s *Store) addDiscarded(sessions map[string]bool) error {
	names, err := s.layout.Directories(s.layout.TrashPath())
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(s.layout.TrashPath(), name, disk.JournalName)
		f := journal.NewFold()
		_, err := journal.Replay("", path, store.OpenLog(s.fs, path), f.Apply)
		if err == nil && f.State != nil {
			sessions[disk.SessionRefs(f.State)] = true
		}
	}
	return nil
}
