package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// State that git tracks may have come with the repository: the author of the commit may
// have recorded approvals and results that no person gave here. Runner shows such state,
// and runs nothing that builds on it until the user adopts it or sets it aside. Both
// commands remove the state from git's index. Trust depends on the index alone, because
// no file of a clone can forge it.

// Untrusted returns why the state of a PRD is not trusted, nil if it is trusted. It takes
// no lock.
func (s *Store) Untrusted(ctx context.Context, prd string) (*UntrustedError, error) {
	tracked, err := s.tracked(prd).trackedFiles(ctx)
	if err != nil || len(tracked) == 0 {
		return nil, err
	}
	for _, path := range tracked {
		path = filepath.Join(s.layout.Path, filepath.FromSlash(path))
		there, err := store.Exists(s.layout.FS, path)
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
	return s.tracked(prd).untrack(ctx)
}

// trackedState is the state of a PRD as far as git tracks it.
type trackedState struct {
	git git.Commander // nil: Runner does not check that
	dir string        // the state directory
	prd string
}

func (s *Store) tracked(prd string) trackedState {
	return trackedState{git: s.o.Git, dir: s.layout.Path, prd: prd}
}

// trackedFiles returns the files that git tracks, relative to the state directory.
func (t trackedState) trackedFiles(ctx context.Context) ([]string, error) {
	if t.git == nil {
		return nil, nil
	}
	all, err := git.TrackedBelow(ctx, t.git, t.dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(path string) bool { return !disk.IsStateOf(t.prd, path) }), nil
}

// untrack removes the files from git's index. The caller holds the lock.
func (t trackedState) untrack(ctx context.Context) error {
	tracked, err := t.trackedFiles(ctx)
	if err != nil || len(tracked) == 0 {
		return err
	}
	return git.Untrack(ctx, t.git, t.dir, tracked)
}

// SetUntrustedAside moves all state of a PRD to untrusted/, without reading it, and
// removes it from git's index. No command reads files in untrusted/. It returns the new
// directory.
func (s *Store) SetUntrustedAside(ctx context.Context, prd string) (to string, err error) {
	if err := s.reader.CheckID(prd); err != nil {
		return "", err
	}
	l, err := s.lockDir(ctx, prd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	to, err = s.layout.MoveUntrusted(prd, s.Now())
	if err == nil {
		err = s.tracked(prd).untrack(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("set %s aside: %w", prd, err)
	}
	return to, nil
}

// Adopt takes over a session that git tracks. Earlier verdicts no longer hold, requests
// that came with the session are dropped, and the session is removed from git's index.
// Afterwards it is like any other session of the caller.
func (x *Session) Adopt(ctx context.Context, by state.Actor) error {
	if x.live == nil {
		return fmt.Errorf("adopt %s: %w", x.prd, ErrNoSession)
	}
	inbox := x.store.layout.InboxPath(x.prd)
	err := store.RemoveEntries(x.store.layout.FS, inbox)
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
	if err := x.store.tracked(x.prd).untrack(ctx); err != nil {
		return fmt.Errorf("adopt %s: %w", x.prd, err)
	}
	return nil
}
