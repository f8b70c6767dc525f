package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"prdrunner/checkpoint/store"
)

// What must happen only once must not happen again because a new session begins. So each
// session has in its first event what has happened in those before it, and a session that
// is imported takes over what is known here.

// actsName is the file that remembers the acts of removed sessions.
const actsName = "acts.json"

// Act is work that must happen only once, and that has happened, or may have.
type Act struct {
	Workstream string    `json:"workstream"`
	Session    string    `json:"session,omitempty"`
	At         time.Time `json:"at,omitzero"`         // when it ended; when it started, where its end is not known
	Host       string    `json:"host,omitempty"`      // the machine that ran the session last
	Digest     Digest    `json:"digest,omitzero"`     // what it was made from, without lists of files
	Uncertain  bool      `json:"uncertain,omitempty"` // nobody knows whether it happened
	Adopted    Adoption  `json:"adopted,omitempty"`   // who said that it did, where no run recorded it
	Unread     Text      `json:"unread,omitempty"`    // the directory of a session that can't be read: it may have happened there
}

// ActsRemembered takes over what has happened in other sessions.
type ActsRemembered struct {
	Acts []Act `json:"acts"`
}

// KnownActs returns all that the state knows to have happened only once, or that may have: in its
// session and in those before it.
func (s *State) KnownActs() []Act {
	acts := slices.Clone(s.Acts)
	for w := range s.Records() {
		done := w.Status == Completed || w.Status == Succeeded
		maybe := w.Attempts > 0 && w.WorkSeq == 0 && (w.Status == Uncertain || w.Status == Running)
		if !w.Once || !done && !maybe {
			continue
		}
		acts = append(acts, unknownActs([]Act{s.ActOf(w)}, acts)...)
	}
	for w := range s.Records() { // asked about, and not answered: it may be what happened under another name
		if w.Once && w.Status == Uncertain && !slices.ContainsFunc(acts, func(a Act) bool { return a.Workstream == w.Name }) {
			acts = append(acts, s.ActOf(w))
		}
	}
	return acts
}

// noteAct puts on record that a workstream has happened which must happen only once, or may have.
func (s *State) noteAct(w *Workstream) {
	if w.Once {
		s.Acts = mergeActs(slices.Clone(s.Acts), s.ActOf(w))
	}
}

// ActOf returns what a record of the state tells of what has happened only once, or may have.
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

// isOf reports whether two acts are of one workstream with one definition, and as certain.
func (a Act) isOf(b Act) bool {
	return a.Workstream == b.Workstream && a.Digest.Definition == b.Digest.Definition && a.Uncertain == b.Uncertain
}

// rememberActs takes over what has happened in other sessions. Whoever decided here that a
// workstream runs, or saw it fail before it began, did not know of that.
func (s *State) rememberActs(acts []Act) {
	s.Acts = mergeActs(slices.Clone(s.Acts), acts...)
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

// takeBackAct forgets what may have happened in this session, since it is known not to have.
func (s *State) takeBackAct(workstream string) {
	s.Acts = slices.DeleteFunc(slices.Clone(s.Acts), func(a Act) bool {
		return a.Uncertain && a.Workstream == workstream && a.Session == s.Session
	})
}

// mergeActs adds acts to a list. Of those that are of one workstream with one definition, and as
// certain, the newest stays.
func mergeActs(acts []Act, more ...Act) []Act {
	for _, a := range more {
		i := slices.IndexFunc(acts, func(b Act) bool {
			return b.isOf(a)
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

// UnknownActs returns those of some acts that the state does not know.
func (s *State) UnknownActs(acts []Act) []Act { return unknownActs(acts, s.KnownActs()) }

// unknownActs are those of some acts that a list lacks, or knows an older one of.
func unknownActs(acts, known []Act) []Act {
	return slices.DeleteFunc(slices.Clone(acts), func(a Act) bool {
		return slices.ContainsFunc(known, func(b Act) bool {
			return b.isOf(a) && !b.At.Before(a.At)
		})
	})
}

// Acts returns what has happened only once, or may have, in the sessions of a PRD: in the current
// one, whose state is given where the caller owns it, in those that were set aside, and in removed ones.
// unread says where sessions lie that can't be read, and where those lay that could not be when they
// were removed.
func (s *Store) Acts(prd string, current *State) (acts []Act, unread []string, err error) {
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
			unread = append(unread, s.within(at.Dir))
			continue
		}
		acts = mergeActs(acts, at.State.KnownActs()...)
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
		acts = mergeActs(acts, current.KnownActs()...)
	}
	return acts, append(unread, removed.unread()...), nil
}

// within names a directory by its path in the state directory.
func (s *Store) within(dir string) string {
	name, err := filepath.Rel(s.dir, dir)
	if err != nil {
		return filepath.ToSlash(dir)
	}
	return filepath.ToSlash(name)
}

// actsFile is the form of the file that remembers the acts of removed sessions.
type actsFile struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Acts          []Act  `json:"acts"`
	Unread        []Text `json:"unread,omitempty"` // where sessions lay that could not be read
}

// unread says where removed sessions lay that could not be read.
func (f actsFile) unread() []string {
	names := make([]string, len(f.Unread))
	for i, name := range f.Unread {
		names[i] = string(name) + ", since removed"
	}
	return names
}

func (s *Store) actsPath(prd string) string { return filepath.Join(s.prdDir(prd), actsName) }

// removedActs reads what is remembered of removed sessions.
func (s *Store) removedActs(prd string) (actsFile, error) {
	path := s.actsPath(prd)
	data, err := store.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return actsFile{}, nil
	}
	if err != nil {
		return actsFile{}, err
	}
	var newer *VersionError
	if err = checkVersion(path, data); errors.As(err, &newer) {
		return actsFile{}, newer
	}
	var f actsFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return actsFile{}, &DamagedError{Path: path, Detail: err.Error(), Remedy: "without that file, what removed sessions did only once is forgotten"}
	}
	return f, nil
}

// keepActs writes the acts of the current session, which is about to be deleted, beside it.
func (s *Store) keepActs(prd string) error {
	snap, err := s.load(prd)
	var damaged *DamagedError
	switch {
	case errors.Is(err, ErrNoSession):
		return nil
	case errors.As(err, &damaged):
		return s.keepUnread(prd, s.prdDir(prd))
	case err != nil:
		return fmt.Errorf("look for what has happened only once in %s: %w", prd, err)
	case snap.State == nil:
		return nil
	}
	return s.addActs(prd, snap.State.KnownActs(), nil)
}

// keepUnread writes what is known of a session that can't be read and is about to be removed: the acts
// as far as its journal tells, and that there may have been others.
func (s *Store) keepUnread(prd, dir string) error {
	f, path := newFold(), filepath.Join(dir, journalName)
	_, _ = replay(prd, path, store.OpenLog(s.fs, path), f.apply) // it is damaged, as said
	var acts []Act
	if f.state != nil {
		acts = f.state.KnownActs()
	}
	return s.addActs(prd, acts, []Text{Text(s.within(dir))})
}

// addActs adds to what is remembered of removed sessions.
func (s *Store) addActs(prd string, acts []Act, unread []Text) error {
	f, err := s.removedActs(prd)
	if err != nil {
		return err
	}
	unread = slices.DeleteFunc(unread, func(name Text) bool { return slices.Contains(f.Unread, name) })
	if acts = unknownActs(acts, f.Acts); len(acts)+len(unread) == 0 {
		return nil
	}
	f = actsFile{FormatVersion: FormatVersion, PRD: prd, Acts: mergeActs(f.Acts, acts...), Unread: append(f.Unread, unread...)}
	if f.Acts == nil {
		f.Acts = []Act{}
	}
	data, err := marshal(f)
	if err != nil {
		return fmt.Errorf("encode what has happened only once: %w", err)
	}
	return store.WriteFile(s.fs, s.actsPath(prd), append(data, '\n'))
}

// rememberers are the sessions that were set aside without which something would be forgotten that has
// happened only once, by the places where they lie, and why each is needed.
func rememberers(records []*recordedSession, known []Act) map[string]string {
	needed := map[string]string{}
	sorted := slices.SortedFunc(slices.Values(records), func(a, b *recordedSession) int {
		return b.state.UpdatedAt.Compare(a.state.UpdatedAt)
	})
	for _, r := range records {
		if r.kind == PlaceCurrent {
			known = mergeActs(known, r.state.KnownActs()...)
		}
	}
	for _, r := range sorted {
		acts := r.state.KnownActs()
		if lacking := unknownActs(acts, known); len(lacking) > 0 {
			needed[r.id] = fmt.Sprintf("no other session knows that %s happened", lacking[0].Workstream)
		}
		known = mergeActs(known, acts...)
	}
	return needed
}
