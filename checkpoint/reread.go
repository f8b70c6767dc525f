package checkpoint

import (
	"context"
	"errors"
	"slices"

	"prdrunner/checkpoint/state"
)

// readTries is the maximum number of times that a reader reads a session that changes
// meanwhile.
const readTries = 10

// Read calls read with a snapshot of a session, so that everything it reads belongs to one
// commit. Read takes no lock, so a writer may remove files that the snapshot names. If
// read returns an error or amiss, and the session has changed since the snapshot, Read
// calls it again with a new snapshot. The function must therefore start afresh in each
// call. If the session has not changed, the result of the last call is final.
func (s *Store) Read(prd string, read func(*Snapshot) (amiss bool, err error)) error {
	load := func() (*Snapshot, error) { return s.Load(prd) }
	return reread(load, (*Snapshot).sameCommit, read)
}

// ReadSessions is Read for all sessions of a PRD, current and archived. An empty prd means
// all PRDs.
func (s *Store) ReadSessions(prd string, read func([]StoredSession) (amiss bool, err error)) error {
	load := func() ([]StoredSession, error) { return s.Sessions(prd) }
	return reread(load, sameSessions, read)
}

// RereadIfChanged calls read, and calls it again if it fails while the sessions of a PRD change.
// An empty prd means all PRDs.
func (s *Store) RereadIfChanged(prd string, read func() error) error {
	if read() == nil {
		return nil
	}
	return s.ReadSessions(prd, func([]StoredSession) (bool, error) { return false, read() })
}

// reread calls read with the value that load returns. While read does not succeed and the
// loaded value changes, it repeats both, up to readTries times or until the context is
// cancelled.
func reread[T any](load func() (T, error), same func(a, b T) bool, read func(T) (amiss bool, err error)) error {
	at, err := load()
	for try := 1; err == nil; try++ {
		amiss, failed := read(at)
		if failed == nil && !amiss || try == readTries || errors.Is(failed, context.Canceled) {
			return failed
		}
		before := at
		if at, err = load(); err == nil && same(before, at) {
			return failed
		}
	}
	return err
}

// sameCommit reports whether two snapshots are of the same commit.
func (s *Snapshot) sameCommit(then *Snapshot) bool { return sameState(s.State, then.State) }

func sameState(a, b *state.State) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Session == b.Session && a.Seq == b.Seq
}

// sameSessions reports whether two lists have the same sessions at the same commits.
func sameSessions(a, b []StoredSession) bool {
	return slices.EqualFunc(a, b, func(a, b StoredSession) bool { return a.Dir == b.Dir && sameState(a.State, b.State) })
}
