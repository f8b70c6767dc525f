package checkpoint

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
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
	if err := s.reader.CheckID(prd); err != nil {
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
