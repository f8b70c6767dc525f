package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
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
	return s.ReadFileIn(s.layout.PRDDir(of.PRD), of, ref)
}

// ReadFileIn is ReadFile with the directory of the session.
func (s *Store) ReadFileIn(dir string, of *state.State, ref *state.CheckpointRef) (*disk.CheckpointFile, error) {
	stored, err := s.layout.CheckpointsIn(dir).Read(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return s.RebuildCheckpoint(of.PRD, dir, ref.ID)
	}
	if err != nil {
		return nil, err
	}
	return stored.Verify(of.PRD, of.Session, ref)
}

// RebuildCheckpoint rebuilds a checkpoint of the session in dir from its journal.
func (s *Store) RebuildCheckpoint(prd, dir, id string) (*disk.CheckpointFile, error) {
	var made *disk.CheckpointFile
	_, err := s.rebuildIn(prd, dir, map[string]bool{id: true}, func(f disk.CheckpointFile) error {
		f.State = f.State.Clone()
		made = &f
		return nil
	})
	if err == nil && made == nil {
		err = &state.DamagedError{
			Path:   s.layout.CheckpointsIn(dir).FilePath(id),
			Detail: "the file is missing, and the journal no longer reaches back to it",
			Remedy: s.lostRemedy(prd, dir, id),

			Checkpoint: id,
		}
	}
	return made, err
}

// lostRemedy returns the advice for a checkpoint that can't be read and can't be rebuilt,
// in the session in dir. If id is "" the advice is for the session's journal.
func (s *Store) lostRemedy(prd, dir, id string) string {
	switch current := dir == s.layout.PRDDir(prd); {
	case current && id != "":
		return fmt.Sprintf("put back a copy, or give it up: `runner checkpoint delete %s %s`", prd, id)
	case current:
		return state.AbandonRemedy(prd)
	}
	return "put back a copy, or, if nothing in it is needed, remove the archived session: rm -r " + text.ShellWord(dir)
}

// rebuild folds the journal, with the lines of a rescue copy and the journals from before
// compactions. It calls made for each checkpoint in ids when it reaches the commit of that
// checkpoint. The state in the argument is valid only during the call. rebuild returns the
// checkpoints that it found.
func (s *Store) rebuild(prd string, ids map[string]bool, made func(disk.CheckpointFile) error) (map[string]bool, error) {
	return s.rebuildIn(prd, s.layout.PRDDir(prd), ids, made)
}

func (s *Store) rebuildIn(prd, dir string, ids map[string]bool, made func(disk.CheckpointFile) error) (map[string]bool, error) {
	found, read := map[string]bool{}, map[string]bool{}
	for {
		// An owner may compact the journal after its files were listed and before they are
		// read. Listing the files again then finds the one that the beginning was moved to.
		paths, err := s.layout.Journals(dir)
		paths = slices.DeleteFunc(paths, func(path string) bool { return read[path] })
		if err != nil || len(paths) == 0 {
			return found, err
		}
		for _, path := range paths {
			k := journal.CheckpointCollector{Fold: journal.NewFold(), IDs: ids, Found: found, Made: made}
			t, err := journal.Replay(prd, path, store.OpenLog(s.fs, path), k.Visit)
			if err == nil && path == s.layout.JournalPath(prd) && k.Fold.State != nil {
				_, err = s.rescued(prd, k.Fold.State.Session, &t, k.Visit)
			}
			if err != nil || len(found) == len(ids) {
				return found, err
			}
			read[path] = true
		}
	}
}

// ErrCommitGone says that a journal begins after a commit, or has no commit with its
// number.
var ErrCommitGone = errors.New("the journal no longer reaches back to it")

// StateAfter returns the state that the journal of the session in dir folds to at a commit.
// The error is ErrCommitGone if no journal there has the commit.
func (s *Store) StateAfter(dir, prd string, seq uint64) (*state.State, error) {
	paths, err := s.layout.Journals(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f := journal.NewFold()
		_, err := journal.Replay(prd, path, store.OpenLog(s.fs, path), func(c state.Commit) error {
			if c.Seq > seq {
				return nil
			}
			return f.Apply(c)
		})
		if err != nil {
			return nil, err
		}
		if f.State != nil && f.State.Seq == seq {
			return f.State, nil
		}
	}
	return nil, fmt.Errorf("read the state at commit %d: %w", seq, ErrCommitGone)
}
