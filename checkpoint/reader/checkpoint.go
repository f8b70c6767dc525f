package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// Files returns the directory of the session's checkpoint files.
func (s Session) Files() disk.CheckpointDir { return s.Layout.CheckpointsIn(s.Dir) }

// ReadCheckpoint returns a checkpoint that the session has, or had, in the state of. If its
// file is missing, even because the session removed the checkpoint since, ReadCheckpoint
// rebuilds the checkpoint in memory from the journal.
func (s Session) ReadCheckpoint(of *state.State, ref *state.CheckpointRef) (*disk.CheckpointFile, error) {
	stored, err := s.Files().Read(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return s.Rebuild(ref.ID)
	}
	if err != nil {
		return nil, err
	}
	return stored.Verify(of.PRD, of.Session, ref)
}

// Rebuild rebuilds a checkpoint of the session from its journal.
func (s Session) Rebuild(id string) (*disk.CheckpointFile, error) {
	var made *disk.CheckpointFile
	_, err := s.RebuildAll(map[string]bool{id: true}, func(f disk.CheckpointFile) error {
		f.State = f.State.Clone()
		made = &f
		return nil
	})
	if err == nil && made == nil {
		err = &state.DamagedError{
			Path:   s.Files().FilePath(id),
			Detail: "the file is missing, and the journal no longer reaches back to it",
			Remedy: s.LostRemedy(id),

			Checkpoint: id,
		}
	}
	return made, err
}

// LostRemedy returns the advice for a checkpoint that can't be read and can't be rebuilt.
// If id is "" the advice is for the session's journal.
func (s Session) LostRemedy(id string) string {
	switch current := s.Dir == s.Layout.PRDDir(s.PRD); {
	case current && id != "":
		return fmt.Sprintf("put back a copy, or give it up: `runner checkpoint delete %s %s`", s.PRD, id)
	case current:
		return state.AbandonRemedy(s.PRD)
	}
	return "put back a copy, or, if nothing in it is needed, remove the archived session: rm -r " + text.ShellWord(s.Dir)
}

// RebuildAll folds the journal, with the lines of a rescue copy and the journals from
// before compactions. It calls made for each checkpoint in ids when it reaches the
// commit of that checkpoint. The state in the argument is valid only during the call.
// RebuildAll returns the checkpoints that it found.
func (s Session) RebuildAll(ids map[string]bool, made func(disk.CheckpointFile) error) (map[string]bool, error) {
	found, read := map[string]bool{}, map[string]bool{}
	for {
		// An owner may compact the journal after its files were listed and before they are
		// read. Listing the files again then finds the one that the beginning was moved to.
		paths, err := s.Layout.Journals(s.Dir)
		paths = slices.DeleteFunc(paths, func(path string) bool { return read[path] })
		if err != nil || len(paths) == 0 {
			return found, err
		}
		for _, path := range paths {
			k := journal.CheckpointCollector{Fold: journal.NewFold(), IDs: ids, Found: found, Made: made}
			t, err := s.replay(s.PRD, path, k.Visit)
			if err == nil && path == s.Layout.JournalPath(s.PRD) && k.Fold.State != nil {
				_, err = s.Rescues.Replay(s.PRD, k.Fold.State.Session, &t, k.Visit)
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

// StateAfter returns the state that the session's journal folds to at a commit. The error
// is ErrCommitGone if no journal there has the commit.
func (s Session) StateAfter(seq uint64) (*state.State, error) {
	paths, err := s.Layout.Journals(s.Dir)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f := journal.NewFold()
		_, err := s.replay(s.PRD, path, func(c state.Commit) error {
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

// Lineage reads the lineage and the state of the session, nil if its directory holds none.
func (s Session) Lineage() (*journal.Lineage, *state.State, error) {
	paths, err := s.Layout.Journals(s.Dir)
	if err != nil {
		return nil, nil, err
	}
	return journal.ReadLineage(s.PRD, s.Layout.FS, paths)
}
