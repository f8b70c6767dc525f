package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// An act is work that must happen only once and that has happened, or may have. It must
// not happen again because a new session begins. So the first event of each session holds
// the acts of earlier sessions, and an imported session takes over the acts that are known
// here.

// Acts returns the acts of a PRD's current session, of its archived sessions, and of
// removed sessions. current is the state of the current session if the caller owns the
// session; if it is nil, Acts loads the state. unread lists the directories of sessions
// that can't be read, and the former directories of sessions that could not be read when
// they were removed.
func (s *Store) Acts(prd string, current *state.State) (acts []state.Act, unread []string, err error) {
	aside, err := s.archived(prd, PlaceHistory, PlaceFailed)
	var removed actsFile
	if err == nil {
		removed, err = s.removedActs(prd)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for what has happened only once in %s: %w", prd, err)
	}
	acts = removed.Acts
	for _, at := range aside {
		if at.State == nil {
			unread = append(unread, s.layout.Within(at.Dir))
			continue
		}
		acts = state.MergeActs(acts, at.State.KnownActs()...)
	}
	if current == nil {
		snap, err := s.load(prd)
		if err != nil && !errors.Is(err, ErrNoSession) {
			return nil, nil, err
		}
		if err == nil {
			current = snap.State
		}
	}
	if current != nil {
		acts = state.MergeActs(acts, current.KnownActs()...)
	}
	return acts, append(unread, removed.unread()...), nil
}

// actsFile is the content of the file that remembers the acts of removed sessions.
type actsFile struct {
	FormatVersion string       `json:"format_version"`
	PRD           string       `json:"prd"`
	Acts          []state.Act  `json:"acts"`
	Unread        []state.Text `json:"unread,omitempty"` // former directories of sessions that could not be read
}

// unread returns the former directories of removed sessions that could not be read, worded
// for people.
func (f actsFile) unread() []string {
	names := make([]string, len(f.Unread))
	for i, name := range f.Unread {
		names[i] = string(name) + ", since removed"
	}
	return names
}

// removedActs reads the acts of removed sessions.
func (s *Store) removedActs(prd string) (actsFile, error) {
	path := s.layout.ActsPath(prd)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return actsFile{}, nil
	}
	if err != nil {
		return actsFile{}, err
	}
	var newer *state.VersionError
	if err = disk.CheckVersion(path, data); errors.As(err, &newer) {
		return actsFile{}, newer
	}
	var f actsFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return actsFile{}, &state.DamagedError{Path: path, Detail: err.Error(), Remedy: "without that file, what removed sessions did only once is forgotten"}
	}
	return f, nil
}

// keepActs records the acts of the current session, which is about to be deleted, in the
// acts file of the PRD.
func (s *Store) keepActs(prd string) error {
	snap, err := s.load(prd)
	var damaged *state.DamagedError
	switch {
	case errors.Is(err, ErrNoSession):
		return nil
	case errors.As(err, &damaged):
		return s.keepUnread(prd, s.layout.PRDDir(prd))
	case err != nil:
		return fmt.Errorf("look for what has happened only once in %s: %w", prd, err)
	case snap.State == nil:
		return nil
	}
	return s.addActs(prd, snap.State.KnownActs(), nil)
}

// keepUnread records a session that can't be read and is about to be removed: the acts in
// the readable part of its journal, and its directory, since there may have been other
// acts.
func (s *Store) keepUnread(prd, dir string) error {
	f, path := journal.NewFold(), filepath.Join(dir, disk.JournalName)
	_, _ = journal.Replay(prd, path, store.OpenLog(s.fs, path), f.Apply) // the caller knows that it is damaged
	var acts []state.Act
	if f.State != nil {
		acts = f.State.KnownActs()
	}
	return s.addActs(prd, acts, []state.Text{state.Text(s.layout.Within(dir))})
}

// addActs adds to the acts file of removed sessions.
func (s *Store) addActs(prd string, acts []state.Act, unread []state.Text) error {
	f, err := s.removedActs(prd)
	if err != nil {
		return err
	}
	unread = slices.DeleteFunc(unread, func(name state.Text) bool { return slices.Contains(f.Unread, name) })
	if acts = state.UnknownActs(acts, f.Acts); len(acts)+len(unread) == 0 {
		return nil
	}
	f = actsFile{FormatVersion: state.FormatVersion, PRD: prd, Acts: state.MergeActs(f.Acts, acts...), Unread: append(f.Unread, unread...)}
	if f.Acts == nil {
		f.Acts = []state.Act{}
	}
	data, err := state.EncodeJSON(f)
	if err != nil {
		return fmt.Errorf("encode what has happened only once: %w", err)
	}
	return store.WriteFile(s.fs, s.layout.ActsPath(prd), append(data, '\n'))
}

// neededForActs returns the archived sessions that are needed because neither the current
// session, nor a removed one, nor a newer archived one knows one of their acts. The keys
// are session ids, and the values say why each session is needed.
func neededForActs(records []*recordedSession, known []state.Act) map[string]string {
	needed := map[string]string{}
	sorted := slices.SortedFunc(slices.Values(records), func(a, b *recordedSession) int {
		return b.state.UpdatedAt.Compare(a.state.UpdatedAt)
	})
	for _, r := range records {
		if r.kind == PlaceCurrent {
			known = state.MergeActs(known, r.state.KnownActs()...)
		}
	}
	for _, r := range sorted {
		acts := r.state.KnownActs()
		if lacking := state.UnknownActs(acts, known); len(lacking) > 0 {
			needed[r.id] = fmt.Sprintf("no other session knows that %s happened", lacking[0].Workstream)
		}
		known = state.MergeActs(known, acts...)
	}
	return needed
}
