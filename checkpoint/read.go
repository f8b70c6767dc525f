package checkpoint

import (
	"fmt"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

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
