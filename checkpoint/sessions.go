package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"prdrunner/checkpoint/store"
)

// Place says where a session lies.
type Place string

// The places of a session.
const (
	PlaceCurrent Place = "current"
	PlaceHistory Place = "history" // complete, and replaced by a newer one
	PlaceFailed  Place = "failed"  // set aside without being complete
)

// StoredSession is a session of a PRD as it lies in the state directory.
type StoredSession struct {
	PRD   string
	Place Place
	Dir   string // with its journal
	State *State // nil where it cannot be read
	Err   error  // why not
}

// failedName takes the name of a directory under failed/ apart.
func failedName(name string) (prd string, ok bool) {
	stamped := regexp.MustCompile(`^(.+)-\d{8}T\d{6}Z(-\d+)?$`).FindStringSubmatch(name)
	if stamped == nil {
		return "", false
	}
	prd, err := url.PathUnescape(stamped[1])
	return prd, err == nil
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
	var all []StoredSession
	for _, id := range prds {
		of, err := s.sessionsOf(id)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// allPRDs returns the ids of which anything is kept, sorted.
func (s *Store) allPRDs() ([]string, error) {
	prds, err := s.PRDs()
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"", failedDir} {
		names, err := s.subdirectories(filepath.Join(s.dir, sub))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			id, ok := failedName(name)
			if sub == "" {
				id = name
				if ok, err = s.exists(s.historyPath(name)); err != nil {
					return nil, fmt.Errorf("list the sessions of %s: %w", name, err)
				}
			}
			if ok && s.isID(id) {
				prds = append(prds, id)
			}
		}
	}
	slices.Sort(prds)
	return slices.Compact(prds), nil
}

func (s *Store) subdirectories(dir string) ([]string, error) {
	entries, err := s.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (s *Store) sessionsOf(prd string) ([]StoredSession, error) {
	var all []StoredSession
	for _, place := range []Place{PlaceHistory, PlaceFailed} {
		archived, err := s.archived(prd, place)
		if err != nil {
			return nil, err
		}
		all = append(all, archived...)
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
	current := s.readSession(StoredSession{PRD: prd, Place: PlaceCurrent, Dir: s.prdDir(prd)})
	if errors.Is(current.Err, ErrNoSession) || current.State == nil && current.Err == nil {
		return all, nil // only its history, or a document written by hand
	}
	return append(all, current), nil
}

// archived returns the sessions of a PRD that were set aside in one place.
func (s *Store) archived(prd string, place Place) ([]StoredSession, error) {
	dir := s.historyPath(prd)
	if place == PlaceFailed {
		dir = filepath.Join(s.dir, failedDir)
	}
	names, err := s.subdirectories(dir)
	if err != nil {
		return nil, err
	}
	var all []StoredSession
	for _, name := range names {
		if of, ok := failedName(name); place == PlaceFailed && (!ok || of != prd) {
			continue
		}
		all = append(all, s.readSession(StoredSession{PRD: prd, Place: place, Dir: filepath.Join(dir, name)}))
	}
	return all, nil
}

// readSession folds the journal of a session.
func (s *Store) readSession(at StoredSession) StoredSession {
	if at.Place == PlaceCurrent {
		snap, err := s.Load(at.PRD)
		if at.Err = err; err == nil {
			at.State = snap.State
		}
		return at
	}
	path := filepath.Join(at.Dir, journalName)
	f := newFold()
	_, err := replay(at.PRD, path, store.OpenLog(s.fs, path), f.apply)
	var damaged *DamagedError
	if errors.As(err, &damaged) { // what mends a journal mends that of the current session
		damaged.Remedy = s.lostRemedy(at.PRD, at.Dir, "")
	}
	switch {
	case err != nil:
		at.Err = err
	case f.state == nil:
		at.Err = &DamagedError{Path: path, Detail: "it is missing, or holds nothing whole", Remedy: s.lostRemedy(at.PRD, at.Dir, "")}
	default:
		at.State = f.state
	}
	return at
}
