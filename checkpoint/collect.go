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

// Collected is what a collection removed, or would.
type Collected struct {
	Objects   int
	Leftovers int      // temporary files of writers that were cut short
	Discarded int      // directories: deleted sessions, and imports that were cut short
	Bytes     int64    // on disk, of all these
	Refs      []string // of git
	Kept      int      // objects
}

// NotCollectedError says why nothing was collected: what something kept needs
// is not known, or somebody is at work.
type NotCollectedError struct{ Err error }

func (e *NotCollectedError) Error() string {
	return fmt.Sprintf("nothing was collected: %v", e.Err)
}

func (e *NotCollectedError) Unwrap() error { return e.Err }

// Collect removes the objects that nothing refers to, the git references that
// no kept capture names, and what is left of deleted sessions. Nobody else may
// write to the state directory meanwhile: *LockedError. If the needs of any
// session cannot be found out, nothing is removed; both are wrapped in a
// *NotCollectedError. What a crash leaves of it, the next one removes.
//
// w is nil where git is not known; its references stay then.
func (s *Store) Collect(ctx context.Context, w *workspace.Workspace) (Collected, error) {
	if there, err := s.layout.Exists(s.layout.Path); err != nil || !there {
		return Collected{}, err
	}
	if err := s.layout.MakeRoot(); err != nil {
		return Collected{}, err
	}
	only, err := s.fs.TryLock(s.layout.StoreLockPath(), false)
	if err != nil {
		return Collected{}, &NotCollectedError{s.lockedBy(err)}
	}
	var done Collected
	if err = s.layout.CheckLayout(""); err == nil {
		done, err = s.collectAlone(ctx, w)
	}
	return done, errors.Join(err, only.Unlock())
}

// collectAlone is Collect for who is alone already.
func (s *Store) collectAlone(ctx context.Context, w *workspace.Workspace) (Collected, error) {
	inv, err := s.references(ctx, gone{})
	if err != nil {
		return Collected{}, &NotCollectedError{err}
	}
	return s.remove(ctx, w, inv, false)
}

// PlanCollect says what a collection would remove once pruning has removed
// what is planned. It takes no lock and changes nothing.
func (s *Store) PlanCollect(ctx context.Context, w *workspace.Workspace, planned ...*Pruned) (done Collected, err error) {
	without := gone{checkpoints: map[string]bool{}, sessions: map[string]bool{}}
	var discarded Collected // by pruning
	for _, p := range planned {
		for _, c := range p.Checkpoints {
			without.checkpoints[c.ID] = true
		}
		for _, r := range p.Sessions {
			without.sessions[r.ID] = true
			discarded.Discarded++
			discarded.Bytes += r.Bytes
		}
	}
	err = s.settled("", func() error {
		inv, err := s.references(ctx, without)
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

// remove removes what an inventory does not need: first the references of git,
// which keep commits that nothing names any more, then objects, then what is
// left of deleted sessions, whose journals told of the references.
func (s *Store) remove(ctx context.Context, w *workspace.Workspace, inv *inventory, dryRun bool) (done Collected, err error) {
	if done.Refs, err = s.removeRefs(ctx, w, inv, dryRun); err != nil {
		return done, err
	}
	swept, err := s.Objects().Sweep(ctx, inv.needs, dryRun)
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

// removeShared removes the temporary files of what belongs to no PRD alone: who
// holds the lock of one does not know whether another is at work on them.
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

// removeRefs removes the git references of sessions of this state directory
// that are not needed. Those of others are left alone, also where another state
// directory has the same session.
func (s *Store) removeRefs(ctx context.Context, w *workspace.Workspace, inv *inventory, dryRun bool) ([]string, error) {
	if w == nil || w.Repository() == nil {
		return nil, nil
	}
	ours := inv.sessions
	if err := s.addDiscarded(ours); err != nil {
		return nil, err
	}
	all, err := w.Repository().Refs(ctx, strings.TrimSuffix(captureRefsRoot, "/"))
	if err != nil {
		return nil, fmt.Errorf("look for captures in git: %w", err)
	}
	var unneeded []string
	for ref := range all {
		own, err := s.ownsRef(ours, ref)
		if err != nil {
			return nil, err
		}
		if own && !inv.refs[refKey(ref)] {
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

// addDiscarded adds the sessions in the trash. One that cannot be read any more
// is not known.
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
			sessions[sessionRefs(f.State)] = true
		}
	}
	return nil
}
