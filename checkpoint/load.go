package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Snapshot is what can be known of a PRD without a lock.
type Snapshot struct {
	State      *state.State    // what the next owner goes on from, with a rescue copy; nil: there is only a document written by hand
	Owner      *Holder         // nil: nobody holds the lock
	Unclean    bool            // the last owner did not let go of it, so that not all that is derived may be there
	Logs       string          // the directory of its logs
	Document   *state.Document // nil: not written yet
	TornBytes  int             // of a write that was cut short, or, with an owner, goes on right now
	RescuePath string          // "": there is no rescue copy that continues this journal
	Import     *PendingImport  // nil: no import was cut short
}

// Load reads a session. It takes no lock and changes nothing.
func (s *Store) Load(prd string) (*Snapshot, error) {
	if err := s.checkID(prd); err != nil {
		return nil, err
	}
	note, err := readNote(s.fs, s.layout.LockPath(prd))
	if err != nil {
		return nil, err
	}
	owner := s.owner(prd, note) // before what it does is read
	snap, err := s.load(prd)
	if err != nil {
		return nil, err
	}
	if owner != nil && owner.here() && owner.gone() { // it has ended meanwhile, and may have written more
		return s.Load(prd)
	}
	snap.Owner, snap.Logs = owner, s.layout.LogsDir(prd)
	snap.Unclean = note != nil && owner == nil
	snap.Import, err = s.PendingImport(prd)
	return snap, err
}

// Owner returns who holds the lock of a PRD now, nil if nobody does. It reads
// the note in the lock file: a holder that is proved to have ended is none. Of
// one elsewhere, which may be another container of this machine, only the lock
// tells, which outlives nobody: it is tried.
func (s *Store) Owner(prd string) (*Holder, error) {
	note, err := readNote(s.fs, s.layout.LockPath(prd))
	return s.owner(prd, note), err
}

// owner returns whom the note in the lock file of a PRD names, if that is who holds it.
func (s *Store) owner(prd string, note *Holder) *Holder {
	switch {
	case note == nil:
		return nil
	case note.here() && note.gone(), !note.here() && s.isFree(prd):
		return nil
	}
	return note
}

// isFree reports whether nobody holds the lock of a PRD. For a moment it is
// shared with others that look, which who takes it meanwhile waits for.
func (s *Store) isFree(prd string) bool {
	lock, err := s.fs.TryLock(s.layout.LockPath(prd), true)
	return err == nil && lock.Unlock() == nil
}

func (s *Store) load(prd string) (*Snapshot, error) {
	if err := s.layout.CheckDir(s.layout.PRDDir(prd)); err != nil {
		return nil, err
	}
	if away, err := s.movedAway(prd); err != nil || away {
		return nil, cmp.Or(err, ErrNoSession)
	}
	// What is derived is read first: it never names a commit that the journal
	// did not have before it.
	d, err := s.readDocument(prd)
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	claims, err := s.claims(prd, s.layout.PRDDir(prd), d)
	if err != nil {
		return nil, err
	}
	f := journal.NewFold()
	t, err := s.replay(prd, f.Apply)
	if err != nil {
		return nil, err
	}
	if t.Lines == 0 && len(t.Torn) == 0 {
		return s.loadDocument(prd, d, claims, damaged)
	}
	if err := verifyClaims(&t, prd, s.layout.JournalPath(prd), f.State, claims); err != nil {
		return nil, err
	}
	snap := &Snapshot{Document: d, TornBytes: len(t.Torn)}
	if f.State == nil {
		return nil, fmt.Errorf("load %s: %w: its journal holds nothing whole", prd, ErrNoSession)
	}
	snap.RescuePath, err = s.rescued(prd, f.State.Session, &t, f.Apply)
	snap.State = f.State
	return snap, err
}

// loadDocument is for a PRD without a journal.
func (s *Store) loadDocument(prd string, d *state.Document, claims []claim, damaged *state.DamagedError) (*Snapshot, error) {
	if err := s.journalMissing(prd, d, claims); err != nil {
		again, unreadable := s.readDocument(prd)
		indexed, unknown := s.layout.Exists(s.layout.ManifestPath(prd))
		if again == nil && !indexed && unreadable == nil && unknown == nil {
			return nil, fmt.Errorf("load %s: %w", prd, ErrNoSession) // archived this moment
		}
		return nil, err
	}
	switch {
	case damaged != nil:
		return nil, damaged
	case d == nil:
		return nil, fmt.Errorf("load %s: %w", prd, ErrNoSession)
	}
	return &Snapshot{Document: d}, nil
}

// journalMissing says, of a PRD without a journal, what was derived from one.
func (s *Store) journalMissing(prd string, d *state.Document, claims []claim) error {
	if len(claims) == 0 && d != nil && d.Runner != nil { // edited since
		claims = []claim{{path: s.layout.DocumentPath(prd), seq: d.Runner.Seq}}
	}
	if len(claims) == 0 {
		return nil
	}
	damage := &state.DamagedError{
		Path:   s.layout.JournalPath(prd),
		Detail: fmt.Sprintf("it is missing or empty, but %s names commit %d of it", claims[0].path, claims[0].seq),
		Remedy: state.AbandonRemedy(prd),
	}
	if damage.Lost = s.nothingLeft(prd); damage.Lost {
		damage.Remedy = state.LostRemedy(prd)
	}
	return damage
}

// nothingLeft reports whether a PRD without a journal has nothing either that it
// could be begun anew from: no checkpoint file, and no journal that it was compacted from.
func (s *Store) nothingLeft(prd string) bool {
	dir := s.layout.PRDDir(prd)
	ids, unlisted := s.layout.CheckpointsIn(dir).IDs()
	journals, unread := s.layout.Journals(dir)
	if errors.Is(unread, fs.ErrNotExist) { // the directory is gone
		return true
	}
	return unlisted == nil && unread == nil && len(ids) == 0 && len(journals) == 1
}

func (s *Store) replay(prd string, visit func(state.Commit) error) (journal.Tail, error) {
	path := s.layout.JournalPath(prd)
	return journal.Replay(prd, path, store.OpenLog(s.fs, path), visit)
}

func (s *Store) checkID(prd string) error {
	if !state.MatchesWhole(s.o.IDPattern, prd) {
		return &disk.IDError{ID: prd, Why: "it must match " + s.o.IDPattern.String()}
	}
	return disk.CheckID(prd)
}

// LastComplete returns the state of the session that completed last, nil if
// none did: the current one, or the newest in the history. Sessions of the
// history that can't be read are passed over, and returned with the reason: no
// new session may depend on what was set aside.
func (s *Store) LastComplete(prd string) (last *state.State, unread []StoredSession, err error) {
	f := journal.NewFold()
	if _, err := s.replay(prd, f.Apply); err != nil {
		return nil, nil, err
	}
	if f.State != nil && f.State.Status == state.StatusComplete {
		return f.State, nil, nil
	}
	archived, err := s.archived(prd, PlaceHistory)
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
