package checkpoint

import (
	"fmt"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
)

// Snapshot is the state of a PRD as read without a lock.
type Snapshot struct {
	reader.Current
	Owner   *disk.Holder // nil: the lock is free
	Unclean bool         // the last owner did not release the lock properly, so that derived files may be missing
	Logs    string       // the directory of the session's logs
}

// Load reads the current session of a PRD. It takes no lock and changes nothing.
func (s *Store) Load(prd string) (*Snapshot, error) {
	if err := s.reader.CheckID(prd); err != nil {
		return nil, err
	}
	lock := s.lockOf(prd)
	note, err := lock.readNote()
	if err != nil {
		return nil, err
	}
	owner := lock.holder(note) // before the journal is read, which the owner may extend
	current, err := s.reader.Current(prd)
	if err != nil {
		return nil, err
	}
	switch {
	case owner != nil && owner.IsLocal() && owner.HasEnded(): // it ended meanwhile, and may have written more
		return s.Load(prd)
	case owner == nil:
		now, err := lock.readNote()
		if err != nil {
			return nil, err
		}
		if lock.holder(now) != nil { // it took the lock meanwhile, and may have begun the session
			return s.Load(prd)
		}
	}
	return &Snapshot{Current: *current, Owner: owner, Logs: s.layout.LogsDir(prd), Unclean: note != nil && owner == nil}, nil
}

// Owner returns the holder of a PRD's lock, nil if the lock is free.
func (s *Store) Owner(prd string) (*disk.Holder, error) {
	note, err := s.lockOf(prd).readNote()
	return s.lockOf(prd).holder(note), err
}

// Checkpoints returns the checkpoints of the current session as the journal has them,
// oldest first.
func (s *Store) Checkpoints(prd string) ([]state.CheckpointRef, error) {
	snap, err := s.Load(prd)
	if err != nil {
		return nil, err
	}
	refs := []state.CheckpointRef{}
	if snap.State != nil {
		for _, ref := range snap.State.Checkpoints {
			refs = append(refs, *ref)
		}
	}
	return refs, nil
}

// ReadCheckpoint returns the checkpoint that ref names: an ID, a unique prefix of one,
// `latest`, `latest~N`, or a step number. If its file is missing, ReadCheckpoint rebuilds
// the checkpoint in memory from the journal.
func (s *Store) ReadCheckpoint(prd, ref string) (f *disk.CheckpointFile, err error) {
	err = s.Read(prd, func(snap *Snapshot) (bool, error) {
		found, err := snap.FindCheckpoint(prd, ref)
		if err == nil {
			f, err = s.ReadFile(snap.State, found)
		}
		return false, err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// FindCheckpoint returns the checkpoint that ref names.
func (s *Snapshot) FindCheckpoint(prd, ref string) (found *state.CheckpointRef, err error) {
	err = state.ErrNoCheckpoint
	if s.State != nil {
		found, err = s.State.FindCheckpoint(ref)
	}
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", ref, prd, err)
	}
	return found, nil
}

// ReadFile returns a checkpoint that the current session has, or had, in the state of. If
// its file is missing, even because the session removed the checkpoint since, ReadFile
// rebuilds the checkpoint in memory from the journal.
func (s *Store) ReadFile(of *state.State, ref *state.CheckpointRef) (*disk.CheckpointFile, error) {
	return s.reader.CurrentSession(of.PRD).ReadCheckpoint(of, ref)
}

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
