package reader

import (
	"context"
	"errors"
	"slices"

	"prdrunner/checkpoint/state"
)

// maxReads is the maximum number of times that a reader reads a session that changes
// meanwhile.
const maxReads = 10

// ReadSessions calls read with all sessions of a PRD, current and archived, as Reread does.
// An empty prd means all PRDs.
func (r Reader) ReadSessions(prd string, read func([]StoredSession) (amiss bool, err error)) error {
	load := func() ([]StoredSession, error) { return r.Sessions(prd) }
	return Reread(load, sameSessions, read)
}

// RereadIfChanged calls read, and calls it again if it fails while the sessions of a PRD
// change. An empty prd means all PRDs.
func (r Reader) RereadIfChanged(prd string, read func() error) error {
	if read() == nil {
		return nil
	}
	return r.ReadSessions(prd, func([]StoredSession) (bool, error) { return false, read() })
}

// Reread calls read with the value that load returns. While read does not succeed and the
// loaded value changes, it repeats both, up to maxReads times or until the context is
// cancelled.
func Reread[T any](load func() (T, error), same func(a, b T) bool, read func(T) (amiss bool, err error)) error {
	at, err := load()
	for try := 1; err == nil; try++ {
		amiss, failed := read(at)
		if failed == nil && !amiss || try == maxReads || errors.Is(failed, context.Canceled) {
			return failed
		}
		before := at
		if at, err = load(); err == nil && same(before, at) {
			return failed
		}
	}
	return err
}

// SameCommit reports whether two states are of the same commit of one session.
func SameCommit(a, b *state.State) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Session == b.Session && a.Seq == b.Seq
}

// sameSessions reports whether two lists have the same sessions at the same commits.
func sameSessions(a, b []StoredSession) bool {
	return slices.EqualFunc(a, b, func(a, b StoredSession) bool { return a.Dir == b.Dir && SameCommit(a.State, b.State) })
}
