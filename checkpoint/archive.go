package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// SetAside archives the current session of a PRD without opening it, and returns the new
// directory, which is under failed/ unless the session can be read and is complete. It is
// the remedy for state that is damaged or was written by a newer version.
func (s *Store) SetAside(ctx context.Context, prd string) (to string, err error) {
	if err := s.reader.CheckID(prd); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("set %s aside: %w", prd, err)
	}
	known, err := s.reader.IsKnown(prd)
	if err == nil && !known {
		err = ErrNoSession
	}
	if err != nil {
		return "", fmt.Errorf("set %s aside: %w", prd, err)
	}
	u, err := s.LockUnopened(ctx, prd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	if err := u.EndOrphans(ctx); err != nil {
		return "", err
	}
	if to, err = s.mover(prd).archive(); err != nil {
		return "", err
	}
	return to, u.ClearNote()
}

// DeleteSession deletes the current session of a PRD, even if it is damaged: journal,
// document, logs and checkpoints. Its history stays. The deletion is atomic: the session
// is gone once its directory is renamed. If Runner crashes after that, the next owner
// completes the deletion. Collect removes objects and the trash afterwards.
func (s *Store) DeleteSession(ctx context.Context, prd string, by state.Actor) (err error) {
	if err := s.reader.CheckID(prd); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	known, err := s.reader.IsKnown(prd)
	if err == nil && !known {
		err = ErrNoSession
	}
	if err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	u, err := s.LockUnopened(ctx, prd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	if current, err := s.reader.Current(prd); err == nil && current.State != nil {
		if current.State.Rollback != nil {
			return fmt.Errorf("delete the session of %s: %w", prd, UnfinishedRollback(current.State))
		}
		if err := CheckReturned(current.State); err != nil {
			return fmt.Errorf("delete the session of %s: %w", prd, err)
		}
	}
	if err := u.EndOrphans(ctx); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	if err := u.SetNote(by); err != nil {
		return err
	}
	if err := s.mover(prd).delete(); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	return u.ClearNote()
}

// Archiving reports whether the archiving of a PRD's session was interrupted. The next
// holder of the lock completes it.
func (s *Store) Archiving(prd string) (bool, error) {
	if err := s.reader.CheckID(prd); err != nil {
		return false, err
	}
	if away, err := s.layout.MovedAway(prd); err != nil || away {
		return away, err
	}
	return store.Exists(s.layout.FS, s.layout.ArchivingPath(prd))
}

// Archive archives the whole session and returns its new directory. A complete session
// goes into the history of its PRD. Any other session is abandoned and goes to failed/.
func (x *Session) Archive(ctx context.Context, by state.Actor, reason string) (string, error) {
	switch {
	case x.live == nil:
		return "", fmt.Errorf("archive %s: %w", x.prd, ErrNoSession)
	case x.State().Rollback != nil:
		return "", fmt.Errorf("archive %s: %w", x.prd, UnfinishedRollback(x.State()))
	case x.State().Status == state.StatusComplete:
		return x.retire(ctx, nil)
	}
	return x.Abandon(state.SessionAbandoned{By: by, Reason: state.Text(reason)})
}
