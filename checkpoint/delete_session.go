package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// DeleteSession deletes the current session of a PRD, even if it is damaged: journal,
// document, logs and checkpoints. Its history stays. The deletion is atomic: the session
// is gone once its directory is renamed. If Runner crashes after that, the next owner
// completes the deletion. Collect removes objects and the trash afterwards.
func (s *Store) DeleteSession(ctx context.Context, prd string, by state.Actor) (err error) {
	if err := s.CheckID(prd); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	known, err := s.isKnown(prd)
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
	if snap, err := s.loadSession(prd); err == nil && snap.State != nil && snap.State.Rollback != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, UnfinishedRollback(snap.State))
	}
	if err := u.EndOrphans(ctx); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	if err := u.SetNote(by); err != nil {
		return err
	}
	if err := s.deleteSession(prd); err != nil {
		return fmt.Errorf("delete the session of %s: %w", prd, err)
	}
	return u.ClearNote()
}

func (s *Store) deleteSession(prd string) error {
	for _, finish := range []func(string) error{s.finishArchive, s.finishDelete} {
		if err := finish(prd); err != nil {
			return err
		}
	}
	if err := store.MkdirAll(s.fs, s.layout.PRDDir(prd)); err != nil {
		return err
	}
	if err := s.keepActs(prd); err != nil {
		return err
	}
	if err := s.takeDocument(prd); err != nil {
		return err
	}
	if err := s.layout.Move(prd, s.layout.PRDDir(prd), s.layout.DeletingPath(prd)); err != nil {
		return err
	}
	return s.finishDelete(prd)
}

// finishDelete completes an interrupted deletion. It moves the history and the acts of
// deleted sessions back to the PRD's directory, and the rest into the trash.
func (s *Store) finishDelete(prd string) error {
	from := s.layout.DeletingPath(prd)
	if there, err := s.layout.Exists(from); err != nil || !there {
		return err
	}
	if err := s.returnKept(prd, from); err != nil {
		return err
	}
	return s.layout.Discard(prd, from)
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
