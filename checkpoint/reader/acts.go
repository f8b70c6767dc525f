package reader

import (
	"errors"
	"fmt"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
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
func (r Reader) Acts(prd string, current *state.State) (acts []state.Act, unread []string, err error) {
	aside, err := r.ArchivedOf(prd, disk.PlaceHistory, disk.PlaceFailed)
	var removed *disk.ActsFile
	if err == nil {
		removed, err = r.Layout.ReadActs(prd)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for what has happened only once in %s: %w", prd, err)
	}
	acts = removed.Acts
	for _, at := range aside {
		if at.State == nil {
			unread = append(unread, r.Layout.Within(at.Dir))
			continue
		}
		acts = state.MergeActs(acts, at.State.KnownActs()...)
	}
	if current == nil {
		loaded, err := r.Current(prd)
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
