package state

import (
	"cmp"
	"slices"
	"time"
)

// Act is work that must happen only once, and that has happened or may have happened.
type Act struct {
	Workstream string    `json:"workstream"`
	Session    string    `json:"session,omitempty"`
	At         time.Time `json:"at,omitzero"`         // when it ended; when it started, where its end is not known
	Host       string    `json:"host,omitempty"`      // the machine that ran the session last
	Digest     Digest    `json:"digest,omitzero"`     // digest of its definition and inputs, without lists of files
	Uncertain  bool      `json:"uncertain,omitempty"` // it is not known whether it happened
	Adopted    Adoption  `json:"adopted,omitempty"`   // how it was decided that it happened, where no run recorded it
	Unread     Text      `json:"unread,omitempty"`    // the directory of a session that can't be read: it may have happened there
}

// ActsRemembered adds acts of other sessions to a session's own.
type ActsRemembered struct {
	Acts []Act `json:"acts"`
}

// NewestAct returns the newest act of a workstream, nil if there is none.
func NewestAct(acts []Act, workstream string) *Act {
	var newest *Act
	for i := range acts {
		if a := &acts[i]; a.Workstream == workstream && (newest == nil || a.At.After(newest.At)) {
			newest = a
		}
	}
	return newest
}

// KnownActs returns the acts of this session and of the sessions before it.
func (s *State) KnownActs() []Act {
	acts := slices.Clone(s.Acts)
	for w := range s.Records() {
		done := w.Status == Completed || w.Status == Succeeded
		maybe := w.Attempts > 0 && w.WorkSeq == 0 && (w.Status == Uncertain || w.Status == Running)
		if !w.Once || !done && !maybe {
			continue
		}
		acts = append(acts, UnknownActs([]Act{s.ActOf(w)}, acts)...)
	}
	for w := range s.Records() { // the question is open: it may have happened under another name
		if w.Once && w.Status == Uncertain && !slices.ContainsFunc(acts, func(a Act) bool { return a.Workstream == w.Name }) {
			acts = append(acts, s.ActOf(w))
		}
	}
	return acts
}

// noteAct records the act of a workstream that must happen only once.
func (s *State) noteAct(w *Workstream) {
	if w.Once {
		s.Acts = MergeActs(slices.Clone(s.Acts), s.ActOf(w))
	}
}

// ActOf returns the act that a workstream's record stands for.
func (s *State) ActOf(w *Workstream) Act {
	at := s.UpdatedAt
	switch {
	case w.Status != Running && w.EndedAt != nil:
		at = *w.EndedAt
	case w.StartedAt != nil:
		at = *w.StartedAt
	}
	d := Digest{Definition: w.Digest.Definition, Inputs: w.Digest.Inputs, Upstream: w.Digest.Upstream, Variables: w.Digest.Variables}
	maybe := w.Status == Uncertain || w.Status == Running
	return Act{Workstream: w.Name, Session: cmp.Or(w.Session, s.Session), At: at, Host: s.Host, Digest: d, Uncertain: maybe, Adopted: w.Adopted}
}

// matches reports whether two acts are of one workstream with one definition, and equally
// certain.
func (a Act) matches(b Act) bool {
	return a.Workstream == b.Workstream && a.Digest.Definition == b.Digest.Definition && a.Uncertain == b.Uncertain
}

// RememberActs adds the acts of other sessions. A decision of this session to run a
// workstream again, and a start that failed, were made without knowing these acts;
// RememberActs revokes them.
func (s *State) RememberActs(acts []Act) {
	s.Acts = MergeActs(slices.Clone(s.Acts), acts...)
	for _, a := range acts {
		w := s.Workstream(a.Workstream)
		if w == nil || !w.Once {
			continue
		}
		w.Repeat = false
		if w.Status == Failed {
			w.Status = Pending
		}
	}
}

// takeBackAct removes an uncertain act of this session once it is known not to have
// happened.
func (s *State) takeBackAct(workstream string) {
	s.Acts = slices.DeleteFunc(slices.Clone(s.Acts), func(a Act) bool {
		return a.Uncertain && a.Workstream == workstream && a.Session == s.Session
	})
}

// MergeActs adds acts to a list. Of acts of one workstream with one definition, and
// equally certain, the newest is kept.
func MergeActs(acts []Act, more ...Act) []Act {
	for _, a := range more {
		i := slices.IndexFunc(acts, func(b Act) bool {
			return b.matches(a)
		})
		switch {
		case i < 0:
			acts = append(acts, a)
		case !a.At.Before(acts[i].At):
			acts[i] = a
		}
	}
	return acts
}

// UnknownActs returns the acts that the state does not have.
func (s *State) UnknownActs(acts []Act) []Act { return UnknownActs(acts, s.KnownActs()) }

// UnknownActs returns the acts that are not in known, or that are newer there.
func UnknownActs(acts, known []Act) []Act {
	return slices.DeleteFunc(slices.Clone(acts), func(a Act) bool {
		return slices.ContainsFunc(known, func(b Act) bool {
			return b.matches(a) && !b.At.Before(a.At)
		})
	})
}
