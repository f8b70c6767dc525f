package checkpoint

import "prdrunner/checkpoint/reader"

// Read calls read with a snapshot of a session, so that everything it reads belongs to one
// commit. Read takes no lock, so a writer may remove files that the snapshot names. If
// read returns an error or amiss, and the session has changed since the snapshot, Read
// calls it again with a new snapshot. The function must therefore start afresh in each
// call. If the session has not changed, the result of the last call is final.
func (s *Store) Read(prd string, read func(*Snapshot) (amiss bool, err error)) error {
	load := func() (*Snapshot, error) { return s.Load(prd) }
	return reader.Reread(load, (*Snapshot).sameCommit, read)
}

// sameCommit reports whether two snapshots are of the same commit.
func (s *Snapshot) sameCommit(then *Snapshot) bool {
	return reader.SameCommit(s.State, then.State)
}
