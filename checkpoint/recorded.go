package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// recordedSession is a session as read from its journals.
type SessionRecord struct {
	disk.SessionDir
	State *state.State // the state after the last commit; nil if the directory has no session
	// rescued holds the lines of a rescue copy that continue the current journal and that the
	// next owner will adopt. then is the state after them.
	rescued [][]byte
	then    *state.State
}

// record reads the head of a session and verifies that no commits are missing at the end
// of its journal. It changes nothing.
func (s *Store) ReadRecord(p disk.SessionDir) (*SessionRecord, error) {
	r := &SessionRecord{SessionDir: p}
	// Derived files are read before the journal: a derived file never names a commit that was
	// not in the journal before.
	found, err := s.tracesOf(p)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.Dir, disk.JournalName)
	f := journal.NewFold()
	t, err := journal.Replay(p.PRD, path, store.OpenLog(s.fs, path), f.Apply)
	if err != nil {
		return nil, err
	}
	if r.State = f.State; f.State == nil {
		return r, s.nothingRecorded(p, len(t.Torn) > 0, found)
	}
	more, err := s.layout.CheckpointClaims(p.Dir, found.checkpoints, f.State)
	if err != nil {
		return nil, err
	}
	if err := t.CheckClaims(p.PRD, path, f.State, append(found.claims, more...)); err != nil || p.Place != disk.PlaceCurrent {
		return r, err
	}
	return r, s.adoptRescue(r, f, t)
}

// traces are the files derived from a journal that exist in a directory.
type traces struct {
	checkpoints []string     // IDs of checkpoints that have a file
	claims      []disk.Claim // commits that the manifest and the current session's document name
}

func (s *Store) tracesOf(p disk.SessionDir) (*traces, error) {
	ids, err := s.layout.CheckpointsIn(p.Dir).IDs()
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints: %w", err)
	}
	var d *state.Document
	if p.Place == disk.PlaceCurrent {
		var damaged *state.DamagedError
		if d, err = s.layout.ReadDocument(p.PRD); err != nil && !errors.As(err, &damaged) {
			return nil, err
		}
	}
	claims, err := s.layout.ReadClaims(p.PRD, p.Dir, d)
	if err != nil {
		return nil, err
	}
	return &traces{checkpoints: ids, claims: claims}, nil
}

// nothingRecorded returns an error if a directory without a session has files that were
// derived from one. It does so even if the journal's first line is torn, because nothing
// is derived from a line before it is whole.
func (s *Store) nothingRecorded(p disk.SessionDir, torn bool, found *traces) error {
	if len(found.checkpoints) == 0 && len(found.claims) == 0 {
		return nil
	}
	detail := "it is missing or empty"
	if torn {
		detail = "nothing of it can be read"
	}
	return &state.DamagedError{
		Path: filepath.Join(p.Dir, disk.JournalName), Detail: detail + ", but what was made from it is there",
		Remedy: s.lostRemedy(p.PRD, p.Dir, ""),
	}
}

// adoptRescue sets r.then to the state after the commits of a rescue copy.
func (s *Store) adoptRescue(r *SessionRecord, f *journal.Fold, t journal.Tail) error {
	path, lines, err := s.findRescue(r.PRD, f.State.Session, t)
	if err != nil || len(lines) == 0 {
		return err
	}
	r.State = f.State.Clone()
	if err := applyRescued(r.PRD, path, &t, lines, f.Apply); err != nil {
		return err
	}
	r.rescued, r.then = lines, f.State
	return nil
}

// Heads returns the current state of the session and, if there is a rescue copy, the state
// after it.
func (r *SessionRecord) Heads() []*state.State {
	switch {
	case r.State == nil:
		return nil
	case r.then == nil:
		return []*state.State{r.State}
	}
	return []*state.State{r.State, r.then}
}

// wanted returns the IDs of the kept checkpoints and of the checkpoints that an unfinished
// rollback needs.
func (r *SessionRecord) NeededCheckpoints() map[string]bool {
	ids := map[string]bool{}
	for _, s := range r.Heads() {
		for _, ref := range s.Checkpoints {
			ids[ref.ID] = true
		}
		for _, id := range s.FinishedWith() {
			ids[id] = true
		}
	}
	return ids
}

// visitor receives the contents of a session's journals.
type RecordVisitor struct {
	Commit     func(state.Commit) error               // called for each commit, unless nil
	Checkpoint func(id string, at *state.State) error // called with the state of each wanted checkpoint; at is valid during the call
	Wanted     map[string]bool                        // IDs of the checkpoints to find; visit deletes those it finds in a journal
}

// visit folds the journals of a session once, and reads the checkpoints that the journals
// no longer reach from their files. A wanted checkpoint that is in neither is an error.
func (s *Store) VisitRecord(ctx context.Context, r *SessionRecord, v RecordVisitor) error {
	paths, err := s.layout.Journals(r.Dir)
	if err != nil {
		return err
	}
	for i, path := range paths {
		if v.Commit == nil && len(v.Wanted) == 0 {
			return nil
		}
		f := journal.NewFold()
		fold := func(c state.Commit) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return v.foldCommit(f, c)
		}
		t, err := journal.Replay(r.PRD, path, store.OpenLog(s.fs, path), fold)
		if err == nil && i == 0 {
			err = applyRescued(r.PRD, path, &t, r.rescued, fold)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	for id := range v.Wanted {
		if err := s.visitFile(r, id, v); err != nil {
			return err
		}
	}
	return nil
}

// foldCommit folds one commit, and passes the wanted checkpoints that it created to v.state.
func (v RecordVisitor) foldCommit(f *journal.Fold, c state.Commit) error {
	if err := f.Apply(c); err != nil {
		return err
	}
	if v.Commit != nil {
		if err := v.Commit(c); err != nil {
			return err
		}
	}
	for _, e := range c.Events {
		created, ok := e.(state.CheckpointCreated)
		if !ok || !v.Wanted[created.ID] || f.State.Checkpoint(created.ID) == nil {
			continue
		}
		if err := v.Checkpoint(created.ID, f.State); err != nil {
			return err
		}
		delete(v.Wanted, created.ID)
	}
	return nil
}

func (s *Store) visitFile(r *SessionRecord, id string, v RecordVisitor) error {
	stored, err := s.layout.CheckpointsIn(r.Dir).Read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return &state.DamagedError{
			Path: s.layout.CheckpointsIn(r.Dir).FilePath(id), Detail: "the file is missing, and the journal no longer reaches back to it",
			Remedy: s.lostRemedy(r.PRD, r.Dir, id),
		}
	}
	if err != nil {
		return err
	}
	f, err := stored.Decode()
	var newer *state.VersionError
	switch {
	case errors.As(err, &newer):
		return newer
	case err != nil:
		return &state.DamagedError{Path: stored.Path, Detail: err.Error(), Remedy: s.lostRemedy(r.PRD, r.Dir, id)}
	}
	return v.Checkpoint(id, f.State)
}
