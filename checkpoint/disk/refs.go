package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// CaptureRefsRoot is the prefix of the git references of all captures.
const CaptureRefsRoot = "refs/runner/"

// RefsIDSize is the length of the ID that distinguishes the references of state
// directories.
const RefsIDSize = 8

// CaptureRefs returns the prefix of the git references of a PRD.
func CaptureRefs(prd string) string { return CaptureRefsRoot + EncodeName(prd) + "/" }

// SessionRefs returns the prefix of the git references of a session, without the ID of the
// state directory.
func SessionRefs(s *state.State) string {
	session := s.Session
	if len(session) > 8 {
		session = session[:8]
	}
	return CaptureRefs(s.PRD) + EncodeName(session) + "/"
}

// CaptureRef returns the name of a capture's git reference. id is the ID of the state
// directory. Another state directory of the same repository may have the same session,
// imported; neither may replace or remove references that the other needs.
func CaptureRef(s *state.State, id string, seq uint64) string {
	return fmt.Sprintf("%s-%s/%d", strings.TrimSuffix(SessionRefs(s), "/"), id, seq)
}

// RefKey returns the name of a reference without the ID of its state directory. It is the
// same for all references that keep the same capture of a session and of its copies.
func RefKey(ref string) string {
	dir, seq := path.Split(ref)
	if session, _, ok := cutRefsID(strings.TrimSuffix(dir, "/")); ok {
		return session + "/" + seq
	}
	return ref
}

// cutRefsID splits the ID of the state directory from the directory of a reference.
func cutRefsID(dir string) (session, id string, ok bool) {
	cut := len(dir) - RefsIDSize - 1
	if cut < 0 || dir[cut] != '-' || !isRefsID(dir[cut+1:]) {
		return dir, "", false
	}
	return dir[:cut], dir[cut+1:], true
}

func isRefsID(id string) bool {
	return len(id) == RefsIDSize && strings.Trim(id, "0123456789abcdef") == ""
}

// RefsOwner is an ID for references, with the state directory that it belongs to. A copy
// of that directory contains the file too, but must not use the ID: each directory would
// remove references that the other needs.
type RefsOwner struct {
	ID   string     `json:"id"`
	Path state.Text `json:"path"`
	store.Identity
}

// isSameDirectory reports whether both describe the same directory. A directory that was
// moved keeps its number on its device; one on a file system that was mounted again
// keeps its number and path.
func (o RefsOwner) isSameDirectory(other RefsOwner) bool {
	sameDevice := o.Device != 0 && o.Device == other.Device
	return o.Number == other.Number && (sameDevice || o.Path == other.Path)
}

// RefsIDPath returns the file in which a state directory keeps its ID for the references
// of a PRD. Each PRD has its own file, written under the PRD's lock. It is in the
// directory of the locks because both belong to this directory only: no export contains
// them.
func (l *Layout) RefsIDPath(encoded string) string {
	return filepath.Join(l.Path, LocksDir, encoded+".refs")
}

// refsID returns the ID for the references of a PRD, "" if this state directory has none
// yet.
func (l *Layout) refsID(encoded string) (string, error) {
	kept, _, err := l.ReadRefsOwner(encoded)
	return kept.ID, err
}

// ReadRefsOwner returns the stored ID for the references of a PRD, with the stored (kept)
// and the current (here) description of the state directory. Both are zero if nothing is
// stored, the stored ID is invalid, or it belongs to another directory.
func (l *Layout) ReadRefsOwner(encoded string) (kept, here RefsOwner, err error) {
	data, err := store.ReadFile(l.FS, l.RefsIDPath(encoded))
	if errors.Is(err, fs.ErrNotExist) {
		return RefsOwner{}, RefsOwner{}, nil
	}
	if err != nil {
		return RefsOwner{}, RefsOwner{}, fmt.Errorf("read the id of this state directory's git references: %w", err)
	}
	if err := json.Unmarshal(data, &kept); err != nil || !isRefsID(kept.ID) {
		return RefsOwner{}, RefsOwner{}, nil //nolint:nilerr // another one is made
	}
	if here, err = l.OwnerOfRefs(kept.ID); err != nil || !kept.isSameDirectory(here) {
		return RefsOwner{}, RefsOwner{}, err
	}
	return kept, here, nil
}

// OwnerOfRefs returns the RefsOwner of an ID for this state directory.
func (l *Layout) OwnerOfRefs(id string) (RefsOwner, error) {
	where, err := filepath.Abs(l.Path)
	if err != nil {
		return RefsOwner{}, fmt.Errorf("look at the state directory: %w", err)
	}
	info, err := l.FS.Lstat(l.Path)
	if err != nil {
		return RefsOwner{}, fmt.Errorf("look at the state directory: %w", err)
	}
	return RefsOwner{ID: id, Path: state.Text(where), Identity: store.IdentityOf(info)}, nil
}

// WriteRefsOwner stores the ID for the references of a PRD.
func (l *Layout) WriteRefsOwner(encoded string, owner RefsOwner) error {
	data, err := state.EncodeJSON(owner)
	if err != nil {
		return fmt.Errorf("encode the id of this state directory's git references: %w", err)
	}
	if err := store.WriteFile(l.FS, l.RefsIDPath(encoded), append(data, '\n')); err != nil {
		return fmt.Errorf("keep the id of this state directory's git references: %w", err)
	}
	return nil
}

// OwnsRef reports whether this state directory made a reference, and for one of the given
// sessions. A reference without an ID, as earlier versions made them, has no owner:
// another state directory may have the same session.
func (l *Layout) OwnsRef(sessions map[string]bool, ref string) (bool, error) {
	session, _, ok := cutRefsID(path.Dir(ref))
	if !ok || !sessions[session+"/"] {
		return false, nil
	}
	mine, _, err := l.MadeRef(ref)
	return mine, err
}

// MadeRef returns the ID of the state directory that made a reference, "" if its name has
// none, and reports whether that is this state directory.
func (l *Layout) MadeRef(ref string) (mine bool, id string, err error) {
	_, id, ok := cutRefsID(path.Dir(ref))
	if !ok {
		return false, "", nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, CaptureRefsRoot), "/")
	own, err := l.refsID(name)
	return own == id, id, err
}
