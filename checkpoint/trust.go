package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// State that git tracks may have come with the repository: the author of the commit may
// have recorded approvals and results that no person gave here. Runner shows such state, and
// runs nothing that builds on it until the user adopts it or sets it aside. Both commands
// remove the state from git's index. Trust depends on the index alone, because no file of a
// clone can forge it.

// Untrusted returns why the state of a PRD is not trusted, nil if it is trusted. It takes
// no lock.
func (s *Store) Untrusted(ctx context.Context, prd string) (*UntrustedError, error) {
	tracked, err := s.tracked(ctx, prd)
	if err != nil || len(tracked) == 0 {
		return nil, err
	}
	for _, path := range tracked {
		path = filepath.Join(s.layout.Path, filepath.FromSlash(path))
		there, err := s.layout.Exists(path)
		if err != nil {
			return nil, fmt.Errorf("look for what git tracks: %w", err)
		}
		if there {
			_, err := s.Load(prd)
			return &UntrustedError{PRD: prd, Path: path, Tracked: len(tracked), Current: !errors.Is(err, ErrNoSession)}, nil
		}
	}
	return nil, nil //nolint:nilnil // documented above
}

// checkTrust refuses the state of a PRD that is not trusted. If git tracks files of the
// state and none of them exists, checkTrust removes them from git's index, so that files
// that Runner writes next are not taken for files of the repository. The caller holds the
// lock.
func (s *Store) checkTrust(ctx context.Context, prd string) error {
	untrusted, err := s.Untrusted(ctx, prd)
	switch {
	case err != nil:
		return err
	case untrusted != nil:
		return untrusted
	}
	return s.untrack(ctx, prd)
}

// tracked returns the files of a PRD's state that git tracks, relative to the state
// directory.
func (s *Store) tracked(ctx context.Context, prd string) ([]string, error) {
	if s.o.Git == nil {
		return nil, nil
	}
	all, err := git.TrackedBelow(ctx, s.o.Git, s.layout.Path)
	if err != nil {
		return nil, err
	}
	var tracked []string
	for _, path := range all {
		if disk.IsStateOf(prd, path) {
			tracked = append(tracked, path)
		}
	}
	return tracked, nil
}

// untrack removes the state of a PRD from git's index. The caller holds the lock.
func (s *Store) untrack(ctx context.Context, prd string) error {
	tracked, err := s.tracked(ctx, prd)
	if err != nil || len(tracked) == 0 {
		return err
	}
	return git.Untrack(ctx, s.o.Git, s.layout.Path, tracked)
}

// SetUntrustedAside moves all state of a PRD to untrusted/, without reading it, and
// removes it from git's index. No command reads files in untrusted/. It returns the new
// directory.
func (s *Store) SetUntrustedAside(ctx context.Context, prd string) (to string, err error) {
	if err := s.CheckID(prd); err != nil {
		return "", err
	}
	l, err := s.lockDir(ctx, prd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	to, err = s.moveUntrusted(prd)
	if err == nil {
		err = s.untrack(ctx, prd)
	}
	if err != nil {
		return "", fmt.Errorf("set %s aside: %w", prd, err)
	}
	return to, nil
}

// moveUntrusted moves all state of a PRD to a new directory in untrusted/. The files keep
// their names relative to the state directory.
func (s *Store) moveUntrusted(prd string) (string, error) {
	to, err := s.layout.FreePath(filepath.Join(s.layout.Path, disk.UntrustedDir, disk.EncodeName(prd)+"-"+s.Now().Format(disk.StampFormat)))
	if err == nil {
		err = store.MkdirAll(s.fs, filepath.Join(to, disk.FailedDir))
	}
	if err != nil {
		return "", err
	}
	names, err := s.stateNames(prd)
	for _, name := range names {
		if err == nil {
			err = s.layout.Move(prd, filepath.Join(s.layout.Path, name), filepath.Join(to, name))
		}
	}
	return to, err
}

// stateNames returns the files and directories of a PRD's state, relative to the state
// directory.
func (s *Store) stateNames(prd string) ([]string, error) {
	var names []string
	for _, dir := range []string{"", disk.FailedDir} {
		entries, err := s.fs.ReadDir(filepath.Join(s.layout.Path, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list what there is of %s: %w", prd, err)
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if disk.IsStateOf(prd, filepath.ToSlash(name)) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// Adopt takes over a session that git tracks. Earlier verdicts no longer hold, requests
// that came with the session are dropped, and the session is removed from git's index.
// Afterwards it is like any other session of the caller.
func (x *Session) Adopt(ctx context.Context, by state.Actor) error {
	if x.live == nil {
		return fmt.Errorf("adopt %s: %w", x.prd, ErrNoSession)
	}
	inbox := x.store.layout.InboxPath(x.prd)
	err := x.store.layout.RemoveEntries(inbox)
	if err == nil {
		err = x.store.fs.SyncDir(inbox)
	}
	if err != nil {
		return fmt.Errorf("adopt %s: %w", x.prd, err)
	}
	x.Add(state.SessionAdopted{By: by})
	if err := x.Commit(ctx); err != nil {
		return fmt.Errorf("adopt %s: %w", x.prd, err)
	}
	if err := x.store.untrack(ctx, x.prd); err != nil {
		return fmt.Errorf("adopt %s: %w", x.prd, err)
	}
	return nil
}
