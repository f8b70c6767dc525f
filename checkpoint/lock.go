package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// locks are the two locks that a session holds: its PRD's alone, and the one
// over the state directory together with other writers.
type locks struct {
	shared store.Lock
	own    store.Lock
}

// acquire takes the locks without waiting. The holder's note is not touched.
func (s *Store) acquire(ctx context.Context, prd string) (*locks, error) {
	shared, err := s.fs.TryLock(s.layout.StoreLockPath(), true)
	if err != nil {
		return nil, s.lockedBy(err)
	}
	own, err := s.takeOwn(ctx, prd)
	if err != nil {
		return nil, errors.Join(err, shared.Unlock())
	}
	return &locks{shared, own}, nil
}

// tries is how often the lock of a PRD is tried where only a reader may have it
// for a moment, to find out whether somebody of another machine has.
const tries = 5

// tryOwn takes the lock of a PRD. It waits for readers, and for nobody else.
func (s *Store) tryOwn(ctx context.Context, prd string) (store.Lock, error) {
	look := time.NewTicker(askInterval)
	defer look.Stop()
	for n := 1; ; n++ {
		own, err := s.fs.TryLock(s.layout.LockPath(prd), false)
		if !errors.Is(err, store.ErrLocked) || n == tries {
			return own, err
		}
		if h, noted := readNote(s.fs, s.layout.LockPath(prd)); noted != nil || h == nil || h.here() {
			return nil, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// lockedBy is the *LockedError of somebody else's lock over the state directory.
func (s *Store) lockedBy(err error) error {
	if !errors.Is(err, store.ErrLocked) {
		return err
	}
	return &LockedError{}
}

// noteWait bounds how long an owner that has just taken the lock is waited for
// to say who it is. Until it has read the journal, the note is another's.
const noteWait = time.Second

// takeOwn takes the lock of a PRD, or fails with the *LockedError of who has it, which names
// nobody rather than an owner that is gone. Where nobody says that it has the lock, the lock is
// tried again: an owner that was killed leaves it for a moment to a process that it was
// starting then.
func (s *Store) takeOwn(ctx context.Context, prd string) (store.Lock, error) {
	own, err := s.tryOwn(ctx, prd)
	wait, cancel := context.WithTimeout(ctx, noteWait)
	defer cancel()
	look := time.NewTicker(askInterval)
	defer look.Stop()
	for errors.Is(err, store.ErrLocked) {
		h, unread := s.Owner(prd)
		switch {
		case unread != nil: // that it is locked is what matters
			return nil, &LockedError{PRD: prd}
		case h != nil && h.Host != "":
			return nil, &LockedError{PRD: prd, Holder: *h}
		}
		select {
		case <-look.C:
			own, err = s.fs.TryLock(s.layout.LockPath(prd), false)
		case <-wait.Done():
			return nil, &LockedError{PRD: prd}
		}
	}
	return own, err
}

// check is store.ErrLockLost once somebody else may have taken one of the locks.
func (l *locks) check() error {
	if l.shared != nil {
		if err := l.shared.Check(); err != nil {
			return err
		}
	}
	return l.own.Check()
}

func (l *locks) release() error {
	var err error
	if l.shared != nil {
		err = l.shared.Unlock()
	}
	return errors.Join(l.own.Unlock(), err)
}

// alone calls f while nobody else writes to the state directory, or fails with
// a *LockedError.
func (x *Session) alone(ctx context.Context, f func() error) error {
	path := x.store.layout.StoreLockPath()
	if err := x.locks.shared.Unlock(); err != nil {
		return fmt.Errorf("lock the state directory: %w", err)
	}
	x.locks.shared = nil
	only, err := x.store.fs.TryLock(path, false)
	if err != nil {
		err = x.store.lockedBy(err)
	} else {
		err = errors.Join(f(), only.Unlock())
	}
	return errors.Join(err, x.share(ctx))
}

// share takes the shared lock again. Somebody who is alone at this moment is so
// for a while only.
func (x *Session) share(ctx context.Context) error {
	wait := time.NewTicker(askInterval)
	defer wait.Stop()
	for {
		shared, err := x.store.fs.TryLock(x.store.layout.StoreLockPath(), true)
		if err == nil {
			x.locks.shared = shared
			return nil
		}
		if !errors.Is(err, store.ErrLocked) {
			return fmt.Errorf("lock the state directory: %w", err)
		}
		select {
		case <-wait.C:
		case <-ctx.Done():
			return fmt.Errorf("lock the state directory: %w", ctx.Err())
		}
	}
}

// Lock makes the caller the owner of a PRD. It does not wait: *LockedError.
// What an earlier owner left unfinished is put in order first, and what it left
// running is ended; what is damaged is left as it is, and said. State that git
// tracks is an *UntrustedError.
func (s *Store) Lock(ctx context.Context, prd string, by state.Actor) (*Session, error) {
	return s.lockIf(ctx, prd, by, s.checkTrust)
}

// LockUntrusted is Lock for state that git may track. Nothing may be based on that
// state before Session.Adopt.
func (s *Store) LockUntrusted(ctx context.Context, prd string, by state.Actor) (*Session, error) {
	return s.lockIf(ctx, prd, by, func(context.Context, string) error { return nil })
}

// lockIf is Lock. Once the lock is held, and before anything in the state is believed or
// changed, check decides whether to go on.
func (s *Store) lockIf(ctx context.Context, prd string, by state.Actor, check func(ctx context.Context, prd string) error) (*Session, error) {
	if err := s.checkID(prd); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", prd, err)
	}
	l, err := s.lockDir(ctx, prd)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, prd); err != nil {
		return nil, errors.Join(err, l.release())
	}
	x, err := s.open(prd, newHolder(by, s.now()))
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	x.locks = l
	if x.orphans, err = s.endOrphans(ctx, x.State(), x.unclean); err != nil {
		return nil, errors.Join(err, x.writer.close(), l.release()) // the note stays: the next one must look again
	}
	return x, nil
}

// lockDir makes the state directory, if it must, takes the locks in it, and
// makes sure that what the owner works on lies in it, and that it can be put on
// record what the owner does.
func (s *Store) lockDir(ctx context.Context, prd string) (*locks, error) {
	if err := s.layout.MakeRoot(); err != nil {
		return nil, err
	}
	if err := s.checkAudit(); err != nil { // before anything is changed that it should tell of
		return nil, err
	}
	l, err := s.acquire(ctx, prd)
	if err != nil {
		return nil, err
	}
	if err := s.layout.CheckLayout(prd); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// IsOfSession reports whether a path is that of a file of a PRD's current session.
func (s *Store) IsOfSession(prd, path string) bool {
	dir := s.layout.PRDDir(prd)
	in, below := strings.CutPrefix(path, dir+string(filepath.Separator))
	return path == s.layout.DocumentPath(prd) || below && !strings.HasPrefix(in, disk.HistoryDir+string(filepath.Separator))
}

// SetAside moves all that belongs to a PRD under failed/ without reading it:
// the remedy for what is damaged or a newer version wrote. It returns where it lies now.
func (s *Store) SetAside(ctx context.Context, prd string) (string, error) {
	if err := s.checkID(prd); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("set %s aside: %w", prd, err)
	}
	known, err := s.isKnown(prd)
	if err == nil && !known {
		err = ErrNoSession
	}
	if err != nil {
		return "", fmt.Errorf("set %s aside: %w", prd, err)
	}
	l, err := s.lockDir(ctx, prd)
	if err != nil {
		return "", err
	}
	if err := s.endOrphansUnopened(ctx, prd); err != nil {
		return "", errors.Join(err, l.release())
	}
	to, err := s.archive(prd)
	if err == nil {
		err = writeNote(s.fs, s.layout.LockPath(prd), nil)
	}
	return to, errors.Join(err, l.release())
}
