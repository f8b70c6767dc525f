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

// locks are the two locks that a session holds: the exclusive lock of its PRD, and the
// lock of the state directory, which it shares with other writers.
type locks struct {
	shared store.Lock
	own    store.Lock
}

// acquire takes both locks without waiting for another owner. It does not change the
// holder's note.
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

// tries is how often tryOwn tries the lock of a PRD while only a reader may hold it, for a
// moment, to find out whether a process on another machine does.
const tries = 5

// tryOwn takes the lock of a PRD. It waits for readers, which try the lock only if its
// note names a process elsewhere, and does not wait for owners.
func (s *Store) tryOwn(ctx context.Context, prd string) (store.Lock, error) {
	look := time.NewTicker(askInterval)
	defer look.Stop()
	for n := 1; ; n++ {
		own, err := s.fs.TryLock(s.layout.LockPath(prd), false)
		if !errors.Is(err, store.ErrLocked) || n == tries {
			return own, err
		}
		if h, noted := disk.ReadNote(s.fs, s.layout.LockPath(prd)); noted != nil || h == nil || h.IsLocal() {
			return nil, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// LockExclusively takes the lock of the state directory, which it creates if necessary, so
// that no session is open and none is opened. If another process holds a lock, it returns
// a *LockedError without waiting.
func (s *Store) LockExclusively() (store.Lock, error) { return s.lockStore(false) }

// LockShared takes the lock of the state directory as every session does, so that no
// other process removes objects. It creates the directory if necessary.
func (s *Store) LockShared() (store.Lock, error) { return s.lockStore(true) }

func (s *Store) lockStore(shared bool) (store.Lock, error) {
	if err := s.layout.MakeRoot(); err != nil {
		return nil, err
	}
	lock, err := s.fs.TryLock(s.layout.StoreLockPath(), shared)
	if err != nil {
		return nil, s.lockedBy(err)
	}
	if err := s.layout.CheckLayout(""); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock, nil
}

// lockedBy turns store.ErrLocked into the *LockedError for the lock of the state
// directory, and returns any other error unchanged.
func (s *Store) lockedBy(err error) error {
	if !errors.Is(err, store.ErrLocked) {
		return err
	}
	return &LockedError{}
}

// noteWait is how long takeOwn waits for an owner that has just taken the lock to write
// its note. Until the new owner has read the journal, the note is that of an earlier
// owner.
const noteWait = time.Second

// takeOwn takes the lock of a PRD, or returns a *LockedError with its holder. The error
// names no holder rather than one that has ended. While the note names no living holder,
// takeOwn tries the lock again, up to noteWait: an owner that is killed while it starts a
// process leaves the lock to that process for a moment.
func (s *Store) takeOwn(ctx context.Context, prd string) (store.Lock, error) {
	own, err := s.tryOwn(ctx, prd)
	wait, cancel := context.WithTimeout(ctx, noteWait)
	defer cancel()
	look := time.NewTicker(askInterval)
	defer look.Stop()
	for errors.Is(err, store.ErrLocked) {
		h, unread := s.Owner(prd)
		switch {
		case unread != nil: // report the lock, not the unreadable note
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

// checkHeld returns store.ErrLockLost if another process may have taken one of the locks.
func (l *locks) checkHeld() error {
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

// WithExclusiveLock calls f while the session holds the lock of the state directory exclusively, so
// that no other session writes. If another process has that lock, it returns a
// *LockedError and does not call f. It takes the shared lock again before it returns.
func (x *Session) WithExclusiveLock(ctx context.Context, f func() error) error {
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
	return errors.Join(err, x.lockSharedAgain(ctx))
}

// lockSharedAgain takes the shared lock of the state directory again. It waits for a process that
// holds the lock exclusively, since that is never for long.
func (x *Session) lockSharedAgain(ctx context.Context) error {
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

// Lock makes the caller the owner of a PRD. If another process is the owner, Lock returns
// a *LockedError without waiting. Lock finishes what an earlier owner left unfinished, and
// ends the processes that a killed runner left running. It leaves damaged files unchanged,
// and returns an error for them. For state that git tracks it returns an *UntrustedError.
func (s *Store) Lock(ctx context.Context, prd string, by state.Actor) (*Session, error) {
	return s.lockIf(ctx, prd, by, s.checkTrust)
}

// LockUntrusted makes the caller the owner of a PRD as Lock does, even if git tracks the
// state. The caller must not rely on that state before Session.Adopt.
func (s *Store) LockUntrusted(ctx context.Context, prd string, by state.Actor) (*Session, error) {
	return s.lockIf(ctx, prd, by, func(context.Context, string) error { return nil })
}

// lockIf is Lock with another check of trust. It calls check once the lock is held, before
// it relies on the state or changes it, and fails if check does.
func (s *Store) lockIf(ctx context.Context, prd string, by state.Actor, check func(ctx context.Context, prd string) error) (*Session, error) {
	if err := s.CheckID(prd); err != nil {
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
	x, err := s.openSession(prd, disk.NewHolder(by, s.Now()))
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	x.locks = l
	if x.orphans, err = s.endOrphans(ctx, x.State(), x.unclean); err != nil {
		return nil, errors.Join(err, x.writer.close(), l.release()) // the note stays, so that the next owner tries again
	}
	return x, nil
}

// lockDir creates the state directory if necessary, and takes the locks in it. It makes
// sure that the audit log can be written, and that no directory that the owner works in is
// replaced by a link.
func (s *Store) lockDir(ctx context.Context, prd string) (*locks, error) {
	if err := s.layout.MakeRoot(); err != nil {
		return nil, err
	}
	if err := s.checkAudit(); err != nil { // before any change that the audit log must record
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

// IsOfSession reports whether path is a file of the PRD's current session: the PRD's
// document, or a file in the PRD's directory outside the history.
func (s *Store) IsOfSession(prd, path string) bool {
	dir := s.layout.PRDDir(prd)
	in, below := strings.CutPrefix(path, dir+string(filepath.Separator))
	return path == s.layout.DocumentPath(prd) || below && !strings.HasPrefix(in, disk.HistoryDir+string(filepath.Separator))
}

// SetAside archives the current session of a PRD without opening it, and returns the new
// directory, which is under failed/ unless the session can be read and is complete. It is
// the remedy for state that is damaged or was written by a newer version.
func (s *Store) SetAside(ctx context.Context, prd string) (to string, err error) {
	if err := s.CheckID(prd); err != nil {
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
	u, err := s.LockUnopened(ctx, prd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	if err := u.EndOrphans(ctx); err != nil {
		return "", err
	}
	if to, err = s.archive(prd); err != nil {
		return "", err
	}
	return to, u.ClearNote()
}
