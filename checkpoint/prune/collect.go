package prune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// Collected is the result of a collection, or of its plan.
type Collected struct {
	Objects   int
	Leftovers int      // temporary files of interrupted writers, and unfinished safety checkpoints
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
func Collect(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace) (Collected, error) {
	if there, err := store.Exists(s.Layout().FS, s.Layout().Path); err != nil || !there {
		return Collected{}, err
	}
	only, err := s.LockExclusively()
	if err != nil {
		var locked *checkpoint.LockedError
		if errors.As(err, &locked) {
			err = &NotCollectedError{err}
		}
		return Collected{}, err
	}
	done, err := collectLocked(ctx, s, w)
	return done, errors.Join(err, only.Unlock())
}

// collectLocked does the work of Collect. The caller holds the exclusive lock.
func collectLocked(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace) (Collected, error) {
	inv, err := inventory.Read(ctx, s, inventory.Removed{})
	if err != nil {
		return Collected{}, &NotCollectedError{err}
	}
	return remove(ctx, s, w, inv, false)
}

// PlanCollect returns what a collection would remove after the planned pruning. It takes
// no lock and changes nothing.
func PlanCollect(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, planned ...*Pruned) (done Collected, err error) {
	without := inventory.Removed{Checkpoints: map[string]bool{}, Sessions: map[string]bool{}}
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
	err = s.Reader().RereadIfChanged("", func() error {
		inv, err := inventory.Read(ctx, s, without)
		if err != nil {
			return &NotCollectedError{err}
		}
		done, err = remove(ctx, s, w, inv, true)
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
func remove(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, inv *inventory.Inventory, dryRun bool) (done Collected, err error) {
	if done.Refs, err = removeRefs(ctx, s, w, inv, dryRun); err != nil {
		return done, err
	}
	swept, err := s.Objects().Sweep(ctx, inv.Needs, dryRun)
	done.Objects, done.Leftovers, done.Bytes, done.Kept = swept.Objects, swept.Leftovers, swept.Bytes, swept.Kept
	if err != nil {
		return done, err
	}
	if err := removeShared(s, &done, dryRun); err != nil {
		return done, err
	}
	tidied, err := s.Safety().Tidy(ctx, w, dryRun)
	done.Leftovers += len(tidied.Unfinished) + tidied.Leftovers
	done.Bytes += tidied.Bytes
	if err != nil {
		return done, err
	}
	discarded, err := s.Layout().Directories(s.Layout().TrashPath())
	if err != nil {
		return done, err
	}
	trash, err := store.TreeSize(s.Layout().FS, s.Layout().TrashPath())
	if err != nil {
		return done, err
	}
	done.Discarded = len(discarded)
	done.Bytes += trash
	if dryRun {
		return done, nil
	}
	return done, s.Layout().EmptyTrash()
}

// removeShared removes leftover temporary files from the directories that PRDs share. It
// needs the exclusive lock, because the holder of a PRD's lock can't know whether the
// owner of another PRD is writing them.
func removeShared(s *checkpoint.Store, done *Collected, dryRun bool) error {
	for _, dir := range []string{s.Layout().Path, filepath.Join(s.Layout().Path, disk.LocksDir)} {
		if err := removeTemps(s.FS(), dir, done, dryRun); err != nil {
			return err
		}
	}
	return nil
}

func removeTemps(fsys store.FS, dir string, done *Collected, dryRun bool) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for what was cut short: %w", err)
	}
	for _, e := range entries {
		if !store.IsTemp(e.Name()) {
			continue
		}
		size, err := store.EntrySize(fsys, dir, e)
		if err == nil && !dryRun {
			err = fsys.Remove(filepath.Join(dir, e.Name()))
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
func removeRefs(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, inv *inventory.Inventory, dryRun bool) ([]string, error) {
	if w == nil || w.Repository() == nil {
		return nil, nil
	}
	ours := inv.Sessions
	if err := addDiscarded(s, ours); err != nil {
		return nil, err
	}
	all, err := w.Repository().Refs(ctx, strings.TrimSuffix(disk.CaptureRefsRoot, "/"))
	if err != nil {
		return nil, fmt.Errorf("look for captures in git: %w", err)
	}
	var unneeded []string
	for ref := range all {
		own, err := s.Layout().OwnsRef(ours, ref)
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
func addDiscarded(s *checkpoint.Store, sessions map[string]bool) error {
	names, err := s.Layout().Directories(s.Layout().TrashPath())
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(s.Layout().TrashPath(), name, disk.JournalName)
		f := journal.NewFold()
		_, err := journal.Replay("", path, store.OpenLog(s.FS(), path), f.Apply)
		if err == nil && f.State != nil {
			sessions[disk.SessionRefs(f.State)] = true
		}
	}
	return nil
}
