package reader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// StoredSession is a session of a PRD in the state directory.
type StoredSession struct {
	PRD   string
	Place disk.Place
	Dir   string       // the directory of its journal
	State *state.State // nil if the session cannot be read
	Err   error        // why State is nil
}

// Sessions returns all sessions of a PRD, or of every PRD if prd is "". Archived sessions
// come first, the current one last. It takes no lock. A session that cannot be read is
// included with its error.
func (r Reader) Sessions(prd string) ([]StoredSession, error) {
	if prd != "" {
		if err := r.CheckID(prd); err != nil {
			return nil, err
		}
		return r.sessionsOf(prd)
	}
	prds, err := r.allPRDs()
	if err != nil {
		return nil, err
	}
	found := make([][]StoredSession, len(prds))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, prd := range prds {
		all.Go(func() (err error) {
			found[i], err = r.sessionsOf(prd)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// allPRDs returns the sorted IDs of the PRDs that may have a session, current or archived,
// or that have only a document.
func (r Reader) allPRDs() ([]string, error) {
	prds, err := r.PRDs()
	if err != nil {
		return nil, err
	}
	all, err := r.Layout.SessionDirs("")
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if r.IsID(p.PRD) {
			prds = append(prds, p.PRD)
		}
	}
	slices.Sort(prds)
	return slices.Compact(prds), nil
}

func (r Reader) sessionsOf(prd string) ([]StoredSession, error) {
	all, err := r.ArchivedOf(prd, disk.PlaceHistory, disk.PlaceFailed)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b StoredSession) int {
		if a.State == nil || b.State == nil {
			return strings.Compare(a.Dir, b.Dir)
		}
		return a.State.CreatedAt.Compare(b.State.CreatedAt)
	})
	if known, err := r.IsKnown(prd); err != nil || !known {
		return all, err
	}
	current := StoredSession{PRD: prd, Place: disk.PlaceCurrent, Dir: r.Layout.PRDDir(prd)}
	found, err := r.Current(prd)
	switch {
	case errors.Is(err, ErrNoSession), err == nil && found.State == nil:
		return all, nil // the PRD has only archived sessions, or a handwritten document
	case err != nil:
		current.Err = err
	default:
		current.State = found.State
	}
	return append(all, current), nil
}

// ArchivedSession returns the archived session with an ID, or with the beginning of one. An
// import can leave several; then it is the one with the highest sequence number. If none can be
// read, ArchivedSession returns ErrNoSession, and if several IDs begin so, a state.AmbiguousError.
func (r Reader) ArchivedSession(prd, id string) (*StoredSession, error) {
	all, err := r.ArchivedOf(prd, disk.PlaceHistory, disk.PlaceFailed)
	if err != nil {
		return nil, err
	}
	newest := map[string]*StoredSession{}
	for _, at := range all {
		if at.State == nil || id == "" || !strings.HasPrefix(at.State.Session, id) {
			continue
		}
		if had := newest[at.State.Session]; had == nil || at.State.Seq > had.State.Seq {
			newest[at.State.Session] = &at
		}
	}
	if exact := newest[id]; exact != nil {
		return exact, nil
	}
	if len(newest) > 1 {
		return nil, &state.AmbiguousError{Ref: id, Candidates: slices.Sorted(maps.Keys(newest))}
	}
	for _, found := range newest {
		return found, nil
	}
	return nil, fmt.Errorf("%w of %s is archived that has the id %q and can be read", ErrNoSession, prd, id)
}

// ArchivedOf returns the archived sessions of a PRD in the given places.
func (r Reader) ArchivedOf(prd string, to ...disk.Place) ([]StoredSession, error) {
	places, err := r.Layout.SessionDirs(prd)
	if err != nil {
		return nil, err
	}
	var all []StoredSession
	for _, p := range places {
		if slices.Contains(to, p.Place) {
			all = append(all, r.readArchived(p))
		}
	}
	return all, nil
}

// Archived returns the archived sessions of all PRDs for which wanted returns true. wanted
// gets a session before it is read, with neither State nor Err.
func (r Reader) Archived(ctx context.Context, wanted func(StoredSession) bool) ([]StoredSession, error) {
	places, err := r.Layout.SessionDirs("")
	if err != nil {
		return nil, err
	}
	var all []StoredSession
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		archived := p.Place == disk.PlaceHistory || p.Place == disk.PlaceFailed
		if archived && wanted(StoredSession{PRD: p.PRD, Place: p.Place, Dir: p.Dir}) {
			all = append(all, r.readArchived(p))
		}
	}
	return all, nil
}

// readArchived reads an archived session. If that fails, the result holds the error.
func (r Reader) readArchived(p disk.SessionDir) StoredSession {
	at := StoredSession{PRD: p.PRD, Place: p.Place, Dir: p.Dir}
	record, err := r.ReadRecord(p)
	var damaged *state.DamagedError
	if errors.As(err, &damaged) { // the usual remedy repairs only the journal of the current session
		damaged.Remedy = r.Session(p.PRD, p.Dir).LostRemedy("")
	}
	switch {
	case err != nil:
		at.Err = err
	case record.State == nil:
		at.Err = &state.DamagedError{
			Path: filepath.Join(p.Dir, disk.JournalName), Detail: "it is missing, or holds nothing whole",
			Remedy: r.Session(p.PRD, p.Dir).LostRemedy(""),
		}
	default:
		at.State = record.State
	}
	return at
}

// Known returns the sorted IDs of the PRDs that have a session, current or archived.
func (r Reader) Known() ([]string, error) {
	all, err := r.Layout.SessionDirs("")
	if err != nil {
		return nil, err
	}
	var prds []string
	for _, p := range all {
		if !r.IsID(p.PRD) {
			continue
		}
		there, err := store.Exists(r.Layout.FS, filepath.Join(p.Dir, disk.JournalName))
		if err != nil {
			return nil, fmt.Errorf("list the sessions of %s: %w", p.PRD, err)
		}
		if there {
			prds = append(prds, p.PRD)
		}
	}
	slices.Sort(prds)
	return slices.Compact(prds), nil
}

// LastComplete returns the state of the session that completed last, nil if none did: the
// current session, or the newest complete one in the history. Sessions of the history that
// can't be read are skipped and returned as unread, with their errors: a new session must
// not depend on archived ones.
func (r Reader) LastComplete(prd string) (last *state.State, unread []StoredSession, err error) {
	f := journal.NewFold()
	if _, err := r.Replay(prd, f.Apply); err != nil {
		return nil, nil, err
	}
	if f.State != nil && f.State.Status == state.StatusComplete {
		return f.State, nil, nil
	}
	archived, err := r.ArchivedOf(prd, disk.PlaceHistory)
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
