package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"

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
	aside, err := s.ArchivedOf(prd, disk.PlaceHistory, disk.PlaceFailed)
	var removed *disk.ActsFile
	if err == nil {
		removed, err = s.layout.ReadActs(prd)
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
		loaded, err := s.reader.Current(prd)
		if err != nil && !errors.Is(err, ErrNoSession) {
			return nil, nil, err
		}
		if err == nil {
			current = loaded.State
		}
	}
	if current != nil {
		acts = state.MergeActs(acts, current.KnownActs()...)
	}
	return acts, append(unread, removed.UnreadNames()...), nil
}

// KeepUnread records a session that can't be read and is about to be removed: the acts in
// the readable part of its journal, and its directory, since there may have been other
// acts.
func (s *Store) KeepUnread(prd, dir string) error { return keepUnread(&s.layout, prd, dir) }

func keepUnread(l *disk.Layout, prd, dir string) error {
	f, path := journal.NewFold(), filepath.Join(dir, disk.JournalName)
	_, _ = journal.Replay(prd, path, store.OpenLog(l.FS, path), f.Apply) // the caller knows that it is damaged
	var acts []state.Act
	if f.State != nil {
		acts = f.State.KnownActs()
	}
	return l.AddActs(prd, acts, []state.Text{state.Text(l.Within(dir))})
}
