package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// locks are the two locks that a session holds: the exclusive lock of its PRD, and the
// lock of the state directory, which it shares with other writers.
type locks struct {
	layout *disk.Layout
	shared store.Lock
	own    store.Lock
}

// prdLock is the lock of a PRD. The process that holds it owns the session, and names
// itself in a note beside the lock.
type prdLock struct {
	layout *disk.Layout
	prd    string
}

func (s *Store) lockOf(prd string) prdLock { return prdLock{&s.layout, prd} }

func (l prdLock) lockPath() string { return l.layout.LockPath(l.prd) }

// tryOnce tries to take the lock.
func (l prdLock) tryOnce() (store.Lock, error) { return l.layout.FS.TryLock(l.lockPath(), false) }

func (l prdLock) readNote() (*disk.Holder, error) { return disk.ReadNote(l.layout.FS, l.lockPath()) }

// holder returns the process that a note names if it holds the lock, else nil. A process on
// this machine that has provably ended does not hold it. For a process elsewhere, which
// may be in another container on this machine, holder tries the lock, which no process
// holds longer than it lives.
func (l prdLock) holder(note *disk.Holder) *disk.Holder {
	switch {
	case note == nil:
		return nil
	case note.IsLocal() && note.HasEnded(), !note.IsLocal() && l.isFree():
		return nil
	}
	return note
}

// isFree reports whether the lock is free. To find out, it takes the lock as a shared one
// for a moment; waitForReaders waits for that.
func (l prdLock) isFree() bool {
	lock, err := l.layout.FS.TryLock(l.lockPath(), true)
	return err == nil && lock.Unlock() == nil
}

// tries is how often waitForReaders tries the lock of a PRD while only a reader may hold
// it, for a moment, to find out whether a process on another machine does.
const tries = 5

// waitForReaders takes the lock. It waits for readers, which try the lock only if its
// note names a process elsewhere, and does not wait for owners.
func (l prdLock) waitForReaders(ctx context.Context) (store.Lock, error) {
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for n := 1; ; n++ {
		own, err := l.tryOnce()
		if !errors.Is(err, store.ErrLocked) || n == tries {
			return own, err
		}
		if h, noted := l.readNote(); noted != nil || h == nil || h.IsLocal() {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// noteWait is how long takeOrReport waits for an owner that has just taken the lock to
// write its note. Until the new owner has read the journal, the note is that of an
// earlier owner.
const noteWait = time.Second

// takeOrReport takes the lock, or returns a *LockedError with its holder. The error
// names no holder rather than one that has ended. While the note names no living holder,
// takeOrReport tries the lock again, up to noteWait: an owner that is killed while it
// starts a process leaves the lock to that process for a moment.
func (l prdLock) takeOrReport(ctx context.Context) (store.Lock, error) {
	own, err := l.waitForReaders(ctx)
	wait, cancel := context.WithTimeout(ctx, noteWait)
	defer cancel()
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for errors.Is(err, store.ErrLocked) {
		note, unread := l.readNote()
		if unread != nil { // report the lock, not the unreadable note
			return nil, &LockedError{PRD: l.prd}
		}
		if h := l.holder(note); h != nil && h.Host != "" {
			return nil, &LockedError{PRD: l.prd, Holder: *h}
		}
		select {
		case <-tick.C:
			own, err = l.tryOnce()
		case <-wait.Done():
			return nil, &LockedError{PRD: l.prd}
		}
	}
	return own, err
}

// acquire takes both locks of a session without waiting for another owner. It does not
// change the holder's note.
func (l prdLock) acquire(ctx context.Context) (*locks, error) {
	shared, err := takeStoreLock(l.layout, true)
	if err != nil {
		return nil, err
	}
	own, err := l.takeOrReport(ctx)
	if err != nil {
		return nil, errors.Join(err, shared.Unlock())
	}
	return &locks{l.layout, shared, own}, nil
}

// takeStoreLock takes the lock of the state directory. If another process holds it, it
// returns a *LockedError.
func takeStoreLock(l *disk.Layout, shared bool) (store.Lock, error) {
	lock, err := l.FS.TryLock(l.StoreLockPath(), shared)
	if errors.Is(err, store.ErrLocked) {
		return nil, &LockedError{}
	}
	return lock, err
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
	lock, err := takeStoreLock(&s.layout, shared)
	if err != nil {
		return nil, err
	}
	if err := s.layout.CheckLayout(""); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock, nil
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

// WithExclusiveLock calls f while the session holds the lock of the state directory
// exclusively, so that no other session writes. If another process has that lock, it
// returns a *LockedError and does not call f. It takes the shared lock again before it
// returns.
func (x *Session) WithExclusiveLock(ctx context.Context, f func() error) error {
	return x.locks.exclusively(ctx, f)
}

func (l *locks) exclusively(ctx context.Context, f func() error) error {
	if err := l.shared.Unlock(); err != nil {
		return fmt.Errorf("lock the state directory: %w", err)
	}
	l.shared = nil
	only, err := takeStoreLock(l.layout, false)
	if err == nil {
		err = errors.Join(f(), only.Unlock())
	}
	return errors.Join(err, l.shareAgain(ctx))
}

// shareAgain takes the shared lock of the state directory again. It waits for a process
// that holds the lock exclusively, since that is never for long.
func (l *locks) shareAgain(ctx context.Context) error {
	wait := time.NewTicker(askInterval)
	defer wait.Stop()
	for {
		shared, err := l.layout.FS.TryLock(l.layout.StoreLockPath(), true)
		if err == nil {
			l.shared = shared
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
func (s *Store) lockIf(ctx context.Context, prd string, by state.Actor, check func(ctx context.Context, prd string) error) (x *Session, err error) {
	u, err := s.LockUnopened(ctx, prd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, u.Close()) }() // unless the session has the locks
	if err := check(ctx, prd); err != nil {
		return nil, err
	}
	if x, err = u.Open(by); err != nil {
		return nil, err
	}
	if x.orphans, err = s.endOrphans(ctx, x.State(), x.unclean); err != nil {
		return nil, errors.Join(err, x.Abort()) // the note stays, so that the next owner tries again
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
	if err := s.auditLog().checkWritable(); err != nil { // before any change that the audit log must record
		return nil, err
	}
	l, err := s.lockOf(prd).acquire(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.layout.CheckLayout(prd); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}
