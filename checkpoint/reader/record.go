package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// Record is a session as read from its journals.
type Record struct {
	disk.SessionDir
	State *state.State // the state after the last commit; nil if the directory has no session
	// rescue is a rescue copy that continues the current journal and that the next owner
	// will adopt. then is the state after its lines.
	rescue journal.Rescue
	then   *state.State
}

// ReadRecord reads the head of a session and verifies that no commits are missing at the
// end of its journal. It changes nothing.
func (r Reader) ReadRecord(p disk.SessionDir) (*Record, error) {
	of := &Record{SessionDir: p}
	// Derived files are read before the journal: a derived file never names a commit
	// that was not in the journal before.
	found, err := r.tracesOf(p)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.Dir, disk.JournalName)
	f := journal.NewFold()
	t, err := r.replay(p.PRD, path, f.Apply)
	if err != nil {
		return nil, err
	}
	if of.State = f.State; f.State == nil {
		return of, r.nothingRecorded(p, len(t.Torn) > 0, found)
	}
	more, err := r.Layout.CheckpointClaims(p.Dir, found.checkpoints, f.State)
	if err != nil {
		return nil, err
	}
	if err := t.CheckClaims(p.PRD, path, f.State, append(found.claims, more...)); err != nil || p.Place != disk.PlaceCurrent {
		return of, err
	}
	return of, r.adoptRescue(of, f, t)
}

// traces are the files derived from a journal that exist in a directory.
type traces struct {
	checkpoints []string     // IDs of checkpoints that have a file
	claims      []disk.Claim // commits that the manifest and the current session's document name
}

func (r Reader) tracesOf(p disk.SessionDir) (*traces, error) {
	ids, err := r.Layout.CheckpointsIn(p.Dir).IDs()
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints: %w", err)
	}
	var d *document.File
	if p.Place == disk.PlaceCurrent {
		var damaged *state.DamagedError
		if d, err = r.Layout.ReadDocument(p.PRD); err != nil && !errors.As(err, &damaged) {
			return nil, err
		}
	}
	claims, err := r.Layout.ReadClaims(p.PRD, p.Dir, d)
	if err != nil {
		return nil, err
	}
	return &traces{checkpoints: ids, claims: claims}, nil
}

// nothingRecorded returns an error if a directory without a session has files that were
// derived from one. It does so even if the journal's first line is torn, because nothing
// is derived from a line before it is whole.
func (r Reader) nothingRecorded(p disk.SessionDir, torn bool, found *traces) error {
	if len(found.checkpoints) == 0 && len(found.claims) == 0 {
		return nil
	}
	detail := "it is missing or empty"
	if torn {
		detail = "nothing of it can be read"
	}
	return &state.DamagedError{
		Path: filepath.Join(p.Dir, disk.JournalName), Detail: detail + ", but what was made from it is there",
		Remedy: r.Session(p.PRD, p.Dir).LostRemedy(""),
	}
}

// adoptRescue sets of.then to the state after the commits of a rescue copy.
func (r Reader) adoptRescue(of *Record, f *journal.Fold, t journal.Tail) error {
	rescue, err := r.Rescues.Find(of.PRD, f.State.Session, t)
	if err != nil || len(rescue.Lines) == 0 {
		return err
	}
	of.State = f.State.Clone()
	if err := rescue.Visit(of.PRD, &t, f.Apply); err != nil {
		return err
	}
	of.rescue, of.then = rescue, f.State
	return nil
}

// Heads returns the current state of the session and, if there is a rescue copy, the state
// after it.
func (r *Record) Heads() []*state.State {
	switch {
	case r.State == nil:
		return nil
	case r.then == nil:
		return []*state.State{r.State}
	}
	return []*state.State{r.State, r.then}
}

// NeededCheckpoints returns the IDs of the kept checkpoints and of the checkpoints that
// an unfinished rollback needs.
func (r *Record) NeededCheckpoints() map[string]bool {
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

// Visitor receives the contents of a session's journals.
type Visitor struct {
	Commit     func(state.Commit) error               // called for each commit, unless nil
	Checkpoint func(id string, at *state.State) error // called with the state of each wanted checkpoint; at is valid during the call
	Wanted     map[string]bool                        // IDs of the checkpoints to find; VisitRecord deletes those that it finds in a journal
}

// VisitRecord folds the journals of a session once, and reads the checkpoints that the
// journals no longer reach from their files. A wanted checkpoint that is in neither is
// an error.
func (r Reader) VisitRecord(ctx context.Context, of *Record, v Visitor) error {
	paths, err := r.Layout.Journals(of.Dir)
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
		t, err := r.replay(of.PRD, path, fold)
		if err == nil && i == 0 {
			err = of.rescue.Visit(of.PRD, &t, fold)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	for id := range v.Wanted {
		if err := r.visitFile(of, id, v); err != nil {
			return err
		}
	}
	return nil
}

// foldCommit folds one commit, and passes the wanted checkpoints that it created to
// v.Checkpoint.
func (v Visitor) foldCommit(f *journal.Fold, c state.Commit) error {
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

func (r Reader) visitFile(of *Record, id string, v Visitor) error {
	in := r.Session(of.PRD, of.Dir)
	stored, err := in.Files().Read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return &state.DamagedError{
			Path: in.Files().FilePath(id), Detail: "the file is missing, and the journal no longer reaches back to it",
			Remedy: in.LostRemedy(id),
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
		return &state.DamagedError{Path: stored.Path, Detail: err.Error(), Remedy: in.LostRemedy(id)}
	}
	return v.Checkpoint(id, f.State)
}
