package checkpoint

import (
	"context"
	"errors"
	"slices"

	"prdrunner/checkpoint/state"
)

// readTries is how often a reader begins again because the session moved on
// while it was read.
const readTries = 10

// Read hands over a session as it stands, for all that is read of it to be of
// one moment. It takes no lock, so that a writer may remove meanwhile what that
// moment names. Where read fails, or says that something is amiss, and the
// session has moved on since, it is called again with where it stands by then:
// what it forgets of the time before, it never saw. What is still amiss when
// nothing has moved is so.
func (s *Store) Read(prd string, read func(*Snapshot) (amiss bool, err error)) error {
	load := func() (*Snapshot, error) { return s.Load(prd) }
	return reread(load, (*Snapshot).same, read)
}

// settled reads what sessions of a PRD hold, of all PRDs where none is named, and
// again where that fails while they move on.
func (s *Store) settled(prd string, read func() error) error {
	if read() == nil {
		return nil
	}
	load := func() ([]StoredSession, error) { return s.Sessions(prd) }
	return reread(load, sameSessions, func([]StoredSession) (bool, error) { return false, read() })
}

// reread reads from what load returns, and again as long as that changes under
// a read that does not succeed.
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

// same reports whether the session stands where it stood.
func (s *Snapshot) same(then *Snapshot) bool { return sameState(s.State, then.State) }

func sameState(a, b *state.State) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Session == b.Session && a.Seq == b.Seq
}

// sameSessions reports whether all sessions stand where they stood.
func sameSessions(a, b []StoredSession) bool {
	return slices.EqualFunc(a, b, func(a, b StoredSession) bool { return a.Dir == b.Dir && sameState(a.State, b.State) })
}
