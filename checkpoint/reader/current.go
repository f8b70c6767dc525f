package reader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// ErrNoSession says that a PRD has neither a journal nor a document.
var ErrNoSession = errors.New("no session")

// Current is the current session of a PRD.
type Current struct {
	State      *state.State   // the fold of the journal and the rescue copy, from which the next owner continues; nil: there is only a handwritten document
	Document   *document.File // nil: not written yet
	TornBytes  int            // bytes of an incomplete last line, which an interrupted write left or, if there is an owner, a write in progress
	RescuePath string         // "": there is no rescue copy that continues this journal

	Import *disk.PendingImport // nil: no import was interrupted
}

// Current reads the current session of a PRD. Without one it returns ErrNoSession.
func (r Reader) Current(prd string) (*Current, error) {
	current, err := r.readCurrent(prd)
	if err != nil {
		return nil, err
	}
	current.Import, err = r.Layout.InterruptedImport(prd)
	return current, err
}

func (r Reader) readCurrent(prd string) (*Current, error) {
	if err := r.Layout.CheckDir(r.Layout.PRDDir(prd)); err != nil {
		return nil, err
	}
	if away, err := r.Layout.MovedAway(prd); err != nil || away {
		return nil, cmp.Or(err, ErrNoSession)
	}
	// The derived files are read before the journal: the journal always had a commit
	// before a derived file named it.
	d, err := r.Layout.ReadDocument(prd)
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	claims, err := r.Layout.ReadClaims(prd, r.Layout.PRDDir(prd), d)
	if err != nil {
		return nil, err
	}
	f := journal.NewFold()
	t, err := r.Replay(prd, f.Apply)
	if err != nil {
		return nil, err
	}
	if t.Lines == 0 && len(t.Torn) == 0 {
		return r.loadDocument(prd, d, claims, damaged)
	}
	if err := t.CheckClaims(prd, r.Layout.JournalPath(prd), f.State, claims); err != nil {
		return nil, err
	}
	current := &Current{Document: d, TornBytes: len(t.Torn)}
	if f.State == nil {
		return nil, fmt.Errorf("load %s: %w: its journal holds nothing whole", prd, ErrNoSession)
	}
	current.RescuePath, err = r.Rescues.Replay(prd, f.State.Session, &t, f.Apply)
	current.State = f.State
	return current, err
}

// loadDocument returns the Current of a PRD without a journal.
func (r Reader) loadDocument(prd string, d *document.File, claims []disk.Claim, damaged *state.DamagedError) (*Current, error) {
	if err := r.JournalMissing(prd, d, claims); err != nil {
		again, unreadable := r.Layout.ReadDocument(prd)
		indexed, unknown := store.Exists(r.Layout.FS, r.Layout.ManifestPath(prd))
		if again == nil && !indexed && unreadable == nil && unknown == nil {
			return nil, fmt.Errorf("load %s: %w", prd, ErrNoSession) // archived by another process meanwhile
		}
		return nil, err
	}
	switch {
	case damaged != nil:
		return nil, damaged
	case d == nil:
		return nil, fmt.Errorf("load %s: %w", prd, ErrNoSession)
	}
	return &Current{Document: d}, nil
}

// JournalMissing returns a *state.DamagedError if a PRD without a journal has files that
// were derived from one.
func (r Reader) JournalMissing(prd string, d *document.File, claims []disk.Claim) error {
	if len(claims) == 0 && d != nil && d.Runner != nil { // edited after Runner wrote it, so that it is no claim
		claims = []disk.Claim{{Path: r.Layout.DocumentPath(prd), Seq: d.Runner.Seq}}
	}
	if len(claims) == 0 {
		return nil
	}
	damage := &state.DamagedError{
		Path:   r.Layout.JournalPath(prd),
		Detail: fmt.Sprintf("it is missing or empty, but %s names commit %d of it", claims[0].Path, claims[0].Seq),
		Remedy: state.AbandonRemedy(prd),
	}
	if damage.Lost = r.nothingLeft(prd); damage.Lost {
		damage.Remedy = state.LostRemedy(prd)
	}
	return damage
}

// nothingLeft reports whether a PRD without a journal has nothing that its journal could
// be rebuilt from: no checkpoint file, and no journal from before a compaction.
func (r Reader) nothingLeft(prd string) bool {
	dir := r.Layout.PRDDir(prd)
	ids, unlisted := r.Layout.CheckpointsIn(dir).IDs()
	journals, unread := r.Layout.Journals(dir)
	if errors.Is(unread, fs.ErrNotExist) { // the PRD's directory is gone
		return true
	}
	return unlisted == nil && unread == nil && len(ids) == 0 && len(journals) == 1
}
