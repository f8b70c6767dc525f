package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Finding is what a look at one part of a checkpoint came to.
type Finding string

// The findings.
const (
	FoundOK      Finding = "ok"
	FoundBad     Finding = "bad"
	FoundNone    Finding = "none"    // there is nothing to look at: no git, a file that the journal stands in for
	FoundUnknown Finding = "unknown" // it can't be looked at
)

// ValidateOptions say what is validated, and how closely.
type ValidateOptions struct {
	PRD  string   // "": all
	Refs []string // checkpoints; empty: all of them
	Deep bool     // read every object and blob, instead of looking whether it is there
}

// Validation is what validating came to.
type Validation struct {
	Deep     bool
	Sessions []SessionCheck
}

// SessionCheck is what is true of a session.
type SessionCheck struct {
	StoredSession
	Journal     *state.DamagedError   // what is wrong with its journal; nil: nothing
	Derived     []*state.DamagedError // what is wrong with its document and its manifest, which are made again from the journal
	Checkpoints []CheckpointCheck     // oldest first; of a damaged journal, those that have a file

	unread error                // why it is not known which is the last one that is whole
	last   *state.CheckpointRef // the newest that was read to its last byte, where one is damaged and the journal is not
}

// CheckpointCheck is what is true of a checkpoint.
type CheckpointCheck struct {
	Ref      *state.CheckpointRef // from the file, where the journal is damaged
	Current  bool                 // the session stands there
	File     Finding
	Hash     Finding
	Schema   Finding // of the state in it
	Objects  Finding
	Git      Finding // the commit of its capture
	Checksum string  // as computed now; "" without a file
	Problems []string
	Notes    []string // what is worth knowing and not wrong
	Journal  bool     // the journal can give its file again
	Unkept   string   // what keeps bytes of its files in git is gone, while they are still there; "": nothing is
	Unread   error    // why it can't be judged: a newer version wrote it, or this user may not read it; nil: it can
}

// Whole reports whether nothing is wrong.
func (c *CheckpointCheck) Whole() bool { return len(c.Problems) == 0 }

// Mendable reports whether rebuilding has something to do with it: it is not
// whole, or marked as if it were not, or its file is to be made from the journal, or its bytes
// are to be kept from git's pruning.
func (c *CheckpointCheck) Mendable() bool {
	return !c.Whole() || c.Ref.Damage != nil || c.File == FoundNone || c.Unkept != ""
}

// Reason is what is wrong, in one line.
func (c *CheckpointCheck) Reason() string { return strings.Join(c.Problems, "; ") }

// Count returns how many checkpoints are whole, and how many are not.
func (v *Validation) Count() (valid, invalid int) {
	for _, s := range v.Sessions {
		for _, c := range s.Checkpoints {
			if c.Whole() {
				valid++
			} else {
				invalid++
			}
		}
	}
	return valid, invalid
}

// Damaged reports whether anything is wrong.
func (v *Validation) Damaged() bool {
	_, invalid := v.Count()
	return invalid > 0 || slices.ContainsFunc(v.Sessions, func(s SessionCheck) bool { return s.Journal != nil || len(s.Derived) > 0 })
}

// Unread says what could not be judged, if anything, since a newer version wrote it,
// or this user may not read it: it may be as it should be, and nothing may be mended
// or marked because of it.
func (v *Validation) Unread() error {
	for i := range v.Sessions {
		if err := v.Sessions[i].Unread(); err != nil {
			return err
		}
	}
	return nil
}

// Unread is Validation.Unread of one session.
func (c *SessionCheck) Unread() error {
	for i := range c.Checkpoints {
		if err := c.Checkpoints[i].Unread; err != nil {
			return err
		}
	}
	return c.unread
}

// LastValid returns the newest checkpoint that can be gone back to, nil if
// there is none.
func (c *SessionCheck) LastValid() *state.CheckpointRef {
	if c.Journal == nil && !c.whole() {
		return c.last
	}
	for i := len(c.Checkpoints) - 1; i >= 0; i-- {
		found := &c.Checkpoints[i]
		if found.Whole() && found.Ref.InvalidatedBy == "" && found.Ref.Trigger != state.TriggerPreRollback {
			return found.Ref
		}
	}
	return nil
}

// whole reports whether nothing is wrong with any checkpoint that was looked at.
func (c *SessionCheck) whole() bool {
	return !slices.ContainsFunc(c.Checkpoints, func(c CheckpointCheck) bool { return !c.Whole() })
}

// LastWhole returns the newest checkpoint of a session as it stands that can be
// gone back to, nil if there is none, or none but the one that is passed over.
// It reads them from the newest backwards, each byte at most once, and stops at
// the first that is whole.
func (s *Store) LastWhole(ctx context.Context, w *workspace.Workspace, state *state.State, except string) (*state.CheckpointRef, error) {
	at := StoredSession{PRD: state.PRD, Place: PlaceCurrent, Dir: s.layout.PRDDir(state.PRD), State: state}
	return newChecker(s, w, true).lastWhole(ctx, at, except)
}

// Validate looks whether checkpoints can be gone back to: those of all
// sessions of a PRD, or of all PRDs. It takes no lock and changes nothing.
// Without a workspace the files are not looked at.
func (s *Store) Validate(ctx context.Context, w *workspace.Workspace, o ValidateOptions) (v *Validation, err error) {
	load := func() ([]StoredSession, error) { return s.Sessions(o.PRD) }
	err = reread(load, sameSessions, func(sessions []StoredSession) (amiss bool, err error) {
		v, err = s.validate(ctx, w, sessions, o)
		return err == nil && v.Damaged(), err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (s *Store) validate(ctx context.Context, w *workspace.Workspace, sessions []StoredSession, o ValidateOptions) (*Validation, error) {
	if o.PRD != "" && len(sessions) == 0 {
		return nil, fmt.Errorf("validate %s: %w", o.PRD, ErrNoSession)
	}
	wanted, err := s.wantedIDs(sessions, o.Refs)
	if err != nil {
		return nil, fmt.Errorf("validate %s: %w", o.PRD, err)
	}
	v := &Validation{Deep: o.Deep}
	k := newChecker(s, w, o.Deep)
	for _, at := range sessions {
		c, err := k.session(ctx, at, wanted)
		if err != nil {
			return nil, err
		}
		if c.Journal == nil && !c.whole() {
			// One that is to be gone back to must be more than there.
			deep := newChecker(s, w, true)
			if o.Deep {
				deep = k
			}
			c.last, err = deep.lastWhole(ctx, at, "")
			switch {
			case errors.Is(err, fs.ErrPermission):
				c.unread = err
			case err != nil:
				return nil, err
			}
		}
		if len(wanted) == 0 {
			c.Derived = s.checkDerived(at)
		}
		if len(wanted) == 0 || len(c.Checkpoints) > 0 || c.Journal != nil {
			v.Sessions = append(v.Sessions, *c)
		}
	}
	return v, nil
}

// wantedIDs finds what references name: as elsewhere in the current session,
// else by id or prefix in any, also among the files of one whose journal is
// damaged.
func (s *Store) wantedIDs(sessions []StoredSession, refs []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, ref := range refs {
		id, err := s.wantedID(sessions, ref)
		if err != nil {
			return nil, fmt.Errorf("find checkpoint %q: %w", ref, err)
		}
		wanted[id] = true
	}
	return wanted, nil
}

func (s *Store) wantedID(sessions []StoredSession, ref string) (string, error) {
	var found []string
	for i := len(sessions) - 1; i >= 0; i-- { // the current one first
		at := sessions[i]
		if at.State != nil {
			of, err := at.State.FindCheckpoint(ref)
			if err == nil {
				return of.ID, nil
			}
			if !errors.Is(err, state.ErrNoCheckpoint) {
				return "", err
			}
			continue
		}
		ids, err := s.layout.CheckpointsIn(at.Dir).IDs()
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			if strings.HasPrefix(id, ref) {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", state.ErrNoCheckpoint
	case 1:
		return found[0], nil
	}
	return "", &state.AmbiguousError{Ref: ref, Candidates: found}
}
