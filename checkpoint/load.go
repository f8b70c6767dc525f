package checkpoint

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
)

// Snapshot is the state of a PRD as read without a lock.
type Snapshot struct {
	reader.Current
	Owner   *disk.Holder        // nil: the lock is free
	Unclean bool                // the last owner did not release the lock properly, so that derived files may be missing
	Logs    string              // the directory of the session's logs
	Import  *disk.PendingImport // nil: no import was interrupted
}

// Load reads the current session of a PRD. It takes no lock and changes nothing.
func (s *Store) Load(prd string) (*Snapshot, error) {
	if err := s.CheckID(prd); err != nil {
		return nil, err
	}
	note, err := s.lockOf(prd).note()
	if err != nil {
		return nil, err
	}
	owner := s.lockOf(prd).holder(note) // before the journal is read, which the owner may extend
	current, err := s.reader.Current(prd)
	if err != nil {
		return nil, err
	}
	if owner != nil && owner.IsLocal() && owner.HasEnded() { // the owner has ended meanwhile, and may have written more
		return s.Load(prd)
	}
	snap := &Snapshot{Current: *current, Owner: owner, Logs: s.layout.LogsDir(prd), Unclean: note != nil && owner == nil}
	snap.Import, err = s.layout.InterruptedImport(prd)
	return snap, err
}

// Owner returns the holder of a PRD's lock, nil if the lock is free.
func (s *Store) Owner(prd string) (*disk.Holder, error) {
	note, err := s.lockOf(prd).note()
	return s.lockOf(prd).holder(note), err
}

// CheckID returns a *disk.IDError for a name that is not a PRD id.
func (s *Store) CheckID(prd string) error {
	if !state.MatchesWhole(s.o.IDPattern, prd) {
		return &disk.IDError{ID: prd, Why: "it must match " + s.o.IDPattern.String()}
	}
	return disk.CheckID(prd)
}

// LastComplete returns the state of the session that completed last, nil if none did: the
// current session, or the newest complete one in the history. Sessions of the history that
// can't be read are skipped and returned as unread, with their errors: a new session must
// not depend on archived ones.
func (s *Store) LastComplete(prd string) (last *state.State, unread []StoredSession, err error) {
	f := journal.NewFold()
	if _, err := s.reader.Replay(prd, f.Apply); err != nil {
		return nil, nil, err
	}
	if f.State != nil && f.State.Status == state.StatusComplete {
		return f.State, nil, nil
	}
	archived, err := s.ArchivedOf(prd, disk.PlaceHistory)
	if err != nil {
		return nil, nil, err
	}
	for _, at := range archived {
		switch {
		case at.Err != nil:
			unread = append(unread, at)
		case at.State.Status == state.StatusComplete && (last == nil || at.State.UpdatedAt.After(last.UpdatedAt)):
			last = at.State
		}
	}
	return last, unread, nil
}
