package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// StoredSession is a session of a PRD as it lies in the state directory.
type StoredSession struct {
	PRD   string
	Place Place
	Dir   string       // with its journal
	State *state.State // nil where it cannot be read
	Err   error        // why not
}

// Sessions returns all sessions of a PRD, archived ones first and the current
// one last; of every PRD where none is named. It takes no lock. One that
// cannot be read is there with the reason.
func (s *Store) Sessions(prd string) ([]StoredSession, error) {
	if prd != "" {
		if err := s.checkID(prd); err != nil {
			return nil, err
		}
		return s.sessionsOf(prd)
	}
	prds, err := s.allPRDs()
	if err != nil {
		return nil, err
	}
	found := make([][]StoredSession, len(prds))
	err = atOnce(len(prds), func(i int) (err error) {
		found[i], err = s.sessionsOf(prds[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// allPRDs returns the ids of which anything may be kept, sorted.
func (s *Store) allPRDs() ([]string, error) {
	prds, err := s.PRDs()
	if err != nil {
		return nil, err
	}
	all, err := s.places()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if s.isID(p.prd) {
			prds = append(prds, p.prd)
		}
	}
	slices.Sort(prds)
	return slices.Compact(prds), nil
}

func (s *Store) sessionsOf(prd string) ([]StoredSession, error) {
	all, err := s.archived(prd, PlaceHistory, PlaceFailed)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b StoredSession) int {
		if a.State == nil || b.State == nil {
			return strings.Compare(a.Dir, b.Dir)
		}
		return a.State.CreatedAt.Compare(b.State.CreatedAt)
	})
	if known, err := s.isKnown(prd); err != nil || !known {
		return all, err
	}
	current := StoredSession{PRD: prd, Place: PlaceCurrent, Dir: s.layout.PRDDir(prd)}
	snap, err := s.Load(prd)
	switch {
	case errors.Is(err, ErrNoSession), err == nil && snap.State == nil:
		return all, nil // only its history, or a document written by hand
	case err != nil:
		current.Err = err
	default:
		current.State = snap.State
	}
	return append(all, current), nil
}

// ArchivedSession returns the archived session with an id: of several, which an
// import leaves, the one that went on furthest. Where there is none, that is an
// ErrNoSession.
func (s *Store) ArchivedSession(prd, id string) (*StoredSession, error) {
	all, err := s.archived(prd, PlaceHistory, PlaceFailed)
	if err != nil {
		return nil, err
	}
	var found *StoredSession
	for _, at := range all {
		if at.State != nil && at.State.Session == id && (found == nil || at.State.Seq > found.State.Seq) {
			found = &at
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%w of %s is archived that has the id %q and can be read", ErrNoSession, prd, id)
}

// archived returns the sessions of a PRD that were set aside, to some places.
func (s *Store) archived(prd string, to ...Place) ([]StoredSession, error) {
	places, err := s.placesOf(prd)
	if err != nil {
		return nil, err
	}
	var all []StoredSession
	for _, p := range places {
		if slices.Contains(to, p.kind) {
			all = append(all, s.readArchived(p))
		}
	}
	return all, nil
}

// readArchived reads a session that was set aside.
func (s *Store) readArchived(p place) StoredSession {
	at := StoredSession{PRD: p.prd, Place: p.kind, Dir: p.dir}
	r, err := s.record(p)
	var damaged *state.DamagedError
	if errors.As(err, &damaged) { // what mends a journal mends that of the current session
		damaged.Remedy = s.lostRemedy(p.prd, p.dir, "")
	}
	switch {
	case err != nil:
		at.Err = err
	case r.state == nil:
		at.Err = &state.DamagedError{
			Path: filepath.Join(p.dir, disk.JournalName), Detail: "it is missing, or holds nothing whole",
			Remedy: s.lostRemedy(p.prd, p.dir, ""),
		}
	default:
		at.State = r.state
	}
	return at
}
