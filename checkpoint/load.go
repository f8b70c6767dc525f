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

// Snapshot is the state of a PRD as read without a lock.
type Snapshot struct {
	State      *state.State        // the fold of the journal and the rescue copy, from which the next owner continues; nil: there is only a handwritten document
	Owner      *disk.Holder        // nil: the lock is free
	Unclean    bool                // the last owner did not release the lock properly, so that derived files may be missing
	Logs       string              // the directory of the session's logs
	Document   *state.Document     // nil: not written yet
	TornBytes  int                 // bytes of an incomplete last line, which an interrupted write left or, if there is an owner, a write in progress
	RescuePath string              // "": there is no rescue copy that continues this journal
	Import     *disk.PendingImport // nil: no import was interrupted
}

// Load reads the current session of a PRD. It takes no lock and changes nothing.
func (s *Store) Load(prd string) (*Snapshot, error) {
	if err := s.CheckID(prd); err != nil {
		return nil, err
	}
	note, err := disk.ReadNote(s.fs, s.layout.LockPath(prd))
	if err != nil {
		return nil, err
	}
	owner := s.ownerOf(prd, note) // before the journal is read, which the owner may extend
	snap, err := s.loadSession(prd)
	if err != nil {
		return nil, err
	}
	if owner != nil && owner.IsLocal() && owner.HasEnded() { // the owner has ended meanwhile, and may have written more
		return s.Load(prd)
	}
	snap.Owner, snap.Logs = owner, s.layout.LogsDir(prd)
	snap.Unclean = note != nil && owner == nil
	snap.Import, err = s.layout.InterruptedImport(prd)
	return snap, err
}

// Owner returns the holder of a PRD's lock, nil if the lock is free. It reads the note in
// the lock file. A holder on this machine that has provably ended does not hold the lock.
// If the note names a process elsewhere, which may be another container on this machine,
// Owner tries the lock, which no process holds longer than it lives.
func (s *Store) Owner(prd string) (*disk.Holder, error) {
	note, err := disk.ReadNote(s.fs, s.layout.LockPath(prd))
	return s.ownerOf(prd, note), err
}

// ownerOf returns note if the process that it names holds the PRD's lock, else nil.
func (s *Store) ownerOf(prd string, note *disk.Holder) *disk.Holder {
	switch {
	case note == nil:
		return nil
	case note.IsLocal() && note.HasEnded(), !note.IsLocal() && s.isFree(prd):
		return nil
	}
	return note
}

// isFree reports whether the lock of a PRD is free. To find out, it takes the lock as a
// shared one for a moment; tryOwn waits for that.
func (s *Store) isFree(prd string) bool {
	lock, err := s.fs.TryLock(s.layout.LockPath(prd), true)
	return err == nil && lock.Unlock() == nil
}

func (s *Store) loadSession(prd string) (*Snapshot, error) {
	if err := s.layout.CheckDir(s.layout.PRDDir(prd)); err != nil {
		return nil, err
	}
	if away, err := s.layout.MovedAway(prd); err != nil || away {
		return nil, cmp.Or(err, ErrNoSession)
	}
	// The derived files are read before the journal: the journal always had a commit
	// before a derived file named it.
	d, err := s.layout.ReadDocument(prd)
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	claims, err := s.layout.ReadClaims(prd, s.layout.PRDDir(prd), d)
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
	if err := t.CheckClaims(prd, s.layout.JournalPath(prd), f.State, claims); err != nil {
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

// loadDocument returns the Snapshot of a PRD without a journal.
func (s *Store) loadDocument(prd string, d *state.Document, claims []disk.Claim, damaged *state.DamagedError) (*Snapshot, error) {
	if err := s.journalMissing(prd, d, claims); err != nil {
		again, unreadable := s.layout.ReadDocument(prd)
		indexed, unknown := s.layout.Exists(s.layout.ManifestPath(prd))
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
	return &Snapshot{Document: d}, nil
}

// journalMissing returns a *state.DamagedError if a PRD without a journal has files that
// were derived from one.
func (s *Store) journalMissing(prd string, d *state.Document, claims []disk.Claim) error {
	if len(claims) == 0 && d != nil && d.Runner != nil { // edited after Runner wrote it, so that it is no claim
		claims = []disk.Claim{{Path: s.layout.DocumentPath(prd), Seq: d.Runner.Seq}}
	}
	if len(claims) == 0 {
		return nil
	}
	damage := &state.DamagedError{
		Path:   s.layout.JournalPath(prd),
		Detail: fmt.Sprintf("it is missing or empty, but %s names commit %d of it", claims[0].Path, claims[0].Seq),
		Remedy: state.AbandonRemedy(prd),
	}
	if damage.Lost = s.nothingLeft(prd); damage.Lost {
		damage.Remedy = state.LostRemedy(prd)
	}
	return damage
}

// nothingLeft reports whether a PRD without a journal has nothing that its journal could
// be rebuilt from: no checkpoint file, and no journal from before a compaction.
func (s *Store) nothingLeft(prd string) bool {
	dir := s.layout.PRDDir(prd)
	ids, unlisted := s.layout.CheckpointsIn(dir).IDs()
	journals, unread := s.layout.Journals(dir)
	if errors.Is(unread, fs.ErrNotExist) { // the PRD's directory is gone
		return true
	}
	return unlisted == nil && unread == nil && len(ids) == 0 && len(journals) == 1
}

func (s *Store) replay(prd string, visit func(state.Commit) error) (journal.Tail, error) {
	path := s.layout.JournalPath(prd)
	return journal.Replay(prd, path, store.OpenLog(s.fs, path), visit)
}

func (s *Store) CheckID(prd string) error {
	if !state.MatchesWhole(s.o.IDPattern, prd) {
		return &disk.IDError{ID: prd, Why: "it must match " + s.o.IDPattern.String()}
	}
	return disk.CheckID(prd)
}

// LastComplete returns the state of the session that completed last, nil if none did: the
// current session, or the newest complete one in the history. Sessions of the history that
// can't be read are skipped and returned as unread, with their errors: a new session must
// not depend on archived ones.
func (s *Store) LastComplete(prd string) (last *state.State, unread []StoredSession, err error) {
	f := journal.NewFold()
	if _, err := s.replay(prd, f.Apply); err != nil {
		return nil, nil, err
	}
	if f.State != nil && f.State.Status == state.StatusComplete {
		return f.State, nil, nil
	}
	archived, err := s.ArchivedOf(prd, disk.PlaceHistory)
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
