// Package validate checks whether checkpoints and sessions are whole: the files of the
// checkpoints, the journals, and the objects and git commits that they refer to.
//
// [Run] checks the sessions of one PRD or of all, and changes nothing. [Mark] records the
// result in a session: damaged checkpoints are marked, and whole ones lose their mark.
// [Inspect] describes one checkpoint, [LastWhole] and [FirstWhole] find a whole one.
//
// Package repair mends what is damaged. Read validate.go first; check.go has the checks of
// one session and of one checkpoint.
package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Finding is the result of checking one part of a checkpoint.
type Finding string

// The results of checking a part of a checkpoint.
const (
	FoundOK      Finding = "ok"
	FoundBad     Finding = "bad"
	FoundNone    Finding = "none"    // nothing to check: no git, or a missing file that the journal replaces
	FoundUnknown Finding = "unknown" // it can't be checked
)

// Options hold what to validate, and how thoroughly.
type Options struct {
	PRD  string   // "": all PRDs
	Refs []string // checkpoints; empty: all
	Deep bool     // read every object and blob, instead of only checking that it exists
}

// Validation is the result of validating sessions.
type Validation struct {
	Deep     bool
	Sessions []SessionCheck
}

// SessionCheck is the result of validating a session.
type SessionCheck struct {
	reader.StoredSession
	Journal     *state.DamagedError   // damage of the journal; nil if it is whole
	Derived     []*state.DamagedError // damage of the document and the manifest, which Runner regenerates from the journal
	Checkpoints []CheckpointCheck     // oldest first; if the journal is damaged, those that have a file

	unread error                // why last could not be determined
	last   *state.CheckpointRef // newest checkpoint of which every byte was read and is right; only set if a checkpoint is damaged and the journal is whole
}

// CheckpointCheck is the result of validating a checkpoint.
type CheckpointCheck struct {
	Ref      *state.CheckpointRef // from the checkpoint's file if the journal is damaged
	Current  bool                 // the session's state is at this checkpoint
	File     Finding
	Hash     Finding
	Schema   Finding // of the state in the file
	Objects  Finding
	Git      Finding // the commit of its capture
	Checksum string  // as computed now; "" without a file
	Problems []string
	Notes    []string // remarks that are not problems
	Journal  bool     // its file can be rebuilt from the journal
	Unkept   string   // says which commit or reference no longer keeps bytes in git that still exist; "" if none is missing
	Unread   error    // why it can't be judged: a newer version wrote it, or this user may not read it; nil if it can
}

// Whole reports whether the checkpoint has no problems.
func (c *CheckpointCheck) Whole() bool { return len(c.Problems) == 0 }

// Mendable reports whether rebuilding has something to do for the checkpoint: it has
// problems, it is marked as damaged, its file is to be written from the journal, or its
// bytes are to be protected from git's pruning.
func (c *CheckpointCheck) Mendable() bool {
	return !c.Whole() || c.Ref.Damage != nil || c.File == FoundNone || c.Unkept != ""
}

// Reason returns the problems in one line.
func (c *CheckpointCheck) Reason() string { return strings.Join(c.Problems, "; ") }

// Count returns how many checkpoints are whole and how many are not.
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

// Damaged reports whether any checkpoint, journal, document or manifest is damaged.
func (v *Validation) Damaged() bool {
	_, invalid := v.Count()
	return invalid > 0 || slices.ContainsFunc(v.Sessions, func(s SessionCheck) bool { return s.Journal != nil || len(s.Derived) > 0 })
}

// Unread returns why something could not be judged, because a newer version wrote it or
// this user may not read it; nil if everything was judged. It may be whole, so nothing may
// be repaired or marked because of it.
func (v *Validation) Unread() error {
	for i := range v.Sessions {
		if err := v.Sessions[i].Unread(); err != nil {
			return err
		}
	}
	return nil
}

// Unread returns why a part of the session could not be judged, as Validation.Unread does.
func (c *SessionCheck) Unread() error {
	for i := range c.Checkpoints {
		if err := c.Checkpoints[i].Unread; err != nil {
			return err
		}
	}
	return c.unread
}

// LastValid returns the newest checkpoint that a rollback can go to, nil if there is none.
func (c *SessionCheck) LastValid() *state.CheckpointRef {
	if c.Journal == nil && !c.isWhole() {
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

// isWhole reports whether no validated checkpoint has problems.
func (c *SessionCheck) isWhole() bool {
	return !slices.ContainsFunc(c.Checkpoints, func(c CheckpointCheck) bool { return !c.Whole() })
}

// LastWhole returns the newest checkpoint that led to the given state of the current
// session and that a rollback can go to, leaving out the checkpoint with the id except;
// nil if there is none. It reads checkpoints from the newest backwards, each byte at most
// once, and stops at the first that is whole.
func LastWhole(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, state *state.State, except string) (*state.CheckpointRef, error) {
	at := reader.StoredSession{PRD: state.PRD, Place: disk.PlaceCurrent, Dir: s.Layout().PRDDir(state.PRD), State: state}
	return newChecker(s, w, true).lastWhole(ctx, at, except)
}

// Run checks whether a rollback can go to checkpoints: those of all sessions of a
// PRD, or of all PRDs. It takes no lock and changes nothing. Without a workspace it does
// not check the files of checkpoints.
func Run(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, o Options) (v *Validation, err error) {
	err = s.Reader().ReadSessions(o.PRD, func(sessions []reader.StoredSession) (amiss bool, err error) {
		v, err = validate(ctx, s, w, sessions, o)
		return err == nil && v.Damaged(), err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func validate(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, sessions []reader.StoredSession, o Options) (*Validation, error) {
	if o.PRD != "" && len(sessions) == 0 {
		return nil, fmt.Errorf("validate %s: %w", o.PRD, checkpoint.ErrNoSession)
	}
	wanted, err := wantedIDs(s, sessions, o.Refs)
	if err != nil {
		return nil, fmt.Errorf("validate %s: %w", o.PRD, err)
	}
	v := &Validation{Deep: o.Deep}
	k := newChecker(s, w, o.Deep)
	for _, at := range sessions {
		c, err := k.checkSession(ctx, at, wanted)
		if err != nil {
			return nil, err
		}
		if c.Journal == nil && !c.isWhole() {
			// A checkpoint to roll back to must be read, and not only exist.
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
			c.Derived = checkDerived(s, at)
		}
		if len(wanted) == 0 || len(c.Checkpoints) > 0 || c.Journal != nil {
			v.Sessions = append(v.Sessions, *c)
		}
	}
	return v, nil
}

// CheckSession checks checkpoints of a session by reading every byte: those that refs name,
// or all if refs is empty. refs must be in a form that FindCheckpoint accepts.
func CheckSession(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, at reader.StoredSession, refs []string) (*SessionCheck, error) {
	wanted, err := wantedIDs(s, []reader.StoredSession{at}, refs)
	if err != nil {
		return nil, err
	}
	return newChecker(s, w, true).checkSession(ctx, at, wanted)
}

// wantedIDs returns the ids of the checkpoints that references name. It searches the
// current session first. It resolves references as other commands do, by
// State.FindCheckpoint. In a session whose journal is damaged a reference is a prefix of
// the id of a checkpoint file.
func wantedIDs(s *checkpoint.Store, sessions []reader.StoredSession, refs []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, ref := range refs {
		id, err := wantedID(s, sessions, ref)
		if err != nil {
			return nil, fmt.Errorf("find checkpoint %q: %w", ref, err)
		}
		wanted[id] = true
	}
	return wanted, nil
}

func wantedID(s *checkpoint.Store, sessions []reader.StoredSession, ref string) (string, error) {
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
		ids, err := s.Layout().CheckpointsIn(at.Dir).IDs()
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
