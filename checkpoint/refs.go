package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// CaptureRefsRoot is the prefix of the git references of all captures.
const CaptureRefsRoot = "refs/runner/"

// refsIDSize is the length of the ID that distinguishes the references of state
// directories.
const refsIDSize = 8

// CaptureRefs returns the prefix of the git references of a PRD.
func CaptureRefs(prd string) string { return CaptureRefsRoot + disk.EncodeName(prd) + "/" }

// sessionRefs returns the prefix of the git references of a session, without the ID of the
// state directory.
func sessionRefs(s *state.State) string {
	session := s.Session
	if len(session) > 8 {
		session = session[:8]
	}
	return CaptureRefs(s.PRD) + disk.EncodeName(session) + "/"
}

// captureRef returns the name of a capture's git reference. id is the ID of the state
// directory. Another state directory of the same repository may have the same session,
// imported; neither may replace or remove references that the other needs.
func captureRef(s *state.State, id string, seq uint64) string {
	return fmt.Sprintf("%s-%s/%d", strings.TrimSuffix(sessionRefs(s), "/"), id, seq)
}

// refKey returns the name of a reference without the ID of its state directory. It is the
// same for all references that keep the same capture of a session and of its copies.
func refKey(ref string) string {
	dir, seq := path.Split(ref)
	if session, _, ok := cutRefsID(strings.TrimSuffix(dir, "/")); ok {
		return session + "/" + seq
	}
	return ref
}

// cutRefsID splits the ID of the state directory from the directory of a reference.
func cutRefsID(dir string) (session, id string, ok bool) {
	cut := len(dir) - refsIDSize - 1
	if cut < 0 || dir[cut] != '-' || !isRefsID(dir[cut+1:]) {
		return dir, "", false
	}
	return dir[:cut], dir[cut+1:], true
}

func isRefsID(id string) bool {
	return len(id) == refsIDSize && strings.Trim(id, "0123456789abcdef") == ""
}

// refsOwner is an ID for references, with the state directory that it belongs to. A copy
// of that directory contains the file too, but must not use the ID: each directory would
// remove references that the other needs.
type refsOwner struct {
	ID   string     `json:"id"`
	Path state.Text `json:"path"`
	store.Identity
}

// is reports whether both describe the same directory. A directory that was moved keeps
// its number on its device; one on a file system that was mounted again keeps its number
// and path.
func (o refsOwner) is(other refsOwner) bool {
	sameDevice := o.Device != 0 && o.Device == other.Device
	return o.Number == other.Number && (sameDevice || o.Path == other.Path)
}

// refsIDPath returns the file in which a state directory keeps its ID for the references
// of a PRD. Each PRD has its own file, written under the PRD's lock. It is in the
// directory of the locks because both belong to this directory only: no export contains
// them.
func (s *Store) refsIDPath(encoded string) string {
	return filepath.Join(s.layout.Path, disk.LocksDir, encoded+".refs")
}

// refsID returns the ID for the references of a PRD, "" if this state directory has none
// yet.
func (s *Store) refsID(encoded string) (string, error) {
	kept, _, err := s.readRefsOwner(encoded)
	return kept.ID, err
}

// readRefsOwner returns the stored ID for the references of a PRD, with the stored (kept)
// and the current (here) description of the state directory. Both are zero if nothing is
// stored, the stored ID is invalid, or it belongs to another directory.
func (s *Store) readRefsOwner(encoded string) (kept, here refsOwner, err error) {
	data, err := store.ReadFile(s.fs, s.refsIDPath(encoded))
	if errors.Is(err, fs.ErrNotExist) {
		return refsOwner{}, refsOwner{}, nil
	}
	if err != nil {
		return refsOwner{}, refsOwner{}, fmt.Errorf("read the id of this state directory's git references: %w", err)
	}
	if err := json.Unmarshal(data, &kept); err != nil || !isRefsID(kept.ID) {
		return refsOwner{}, refsOwner{}, nil //nolint:nilerr // another one is made
	}
	if here, err = s.refsOwner(kept.ID); err != nil || !kept.is(here) {
		return refsOwner{}, refsOwner{}, err
	}
	return kept, here, nil
}

// refsOwner returns the refsOwner of an ID for this state directory.
func (s *Store) refsOwner(id string) (refsOwner, error) {
	where, err := filepath.Abs(s.layout.Path)
	if err != nil {
		return refsOwner{}, fmt.Errorf("look at the state directory: %w", err)
	}
	info, err := s.fs.Lstat(s.layout.Path)
	if err != nil {
		return refsOwner{}, fmt.Errorf("look at the state directory: %w", err)
	}
	return refsOwner{ID: id, Path: state.Text(where), Identity: store.IdentityOf(info)}, nil
}

// makeRefsID returns the ID for the session's references. The first time it creates the
// ID, which is durable before the name of a new capture's reference contains it. It
// updates the stored description of the directory, so that the next move or mount is
// recognized from there.
//
// If this state directory is a copy, the session's existing captures get new references
// with the new ID: the original directory removes its own references as soon as it no
// longer needs them.
func (x *Session) makeRefsID(ctx context.Context, git *git.Repository) (string, error) {
	name := disk.EncodeName(x.prd)
	kept, here, err := x.store.readRefsOwner(name)
	if err != nil || kept.ID != "" && kept == here {
		return kept.ID, err
	}
	if kept.ID != "" {
		return kept.ID, x.store.writeRefsOwner(name, here)
	}
	owner, err := x.store.refsOwner(uuid.NewString()[:refsIDSize])
	if err != nil {
		return "", err
	}
	if err := git.KeepCommits(ctx, keptCommits(x.State(), owner.ID)); err != nil {
		return "", fmt.Errorf("keep the captures of %s in git: %w", x.prd, err)
	}
	return owner.ID, x.store.writeRefsOwner(name, owner)
}

func (s *Store) writeRefsOwner(encoded string, owner refsOwner) error {
	data, err := state.EncodeJSON(owner)
	if err != nil {
		return fmt.Errorf("encode the id of this state directory's git references: %w", err)
	}
	if err := store.WriteFile(s.fs, s.refsIDPath(encoded), append(data, '\n')); err != nil {
		return fmt.Errorf("keep the id of this state directory's git references: %w", err)
	}
	return nil
}

// keepRefs creates the missing references of the session's captures again, as MakeRefs
// does. It reports whether git has lost the commit of the last capture.
func (x *Session) keepRefs(ctx context.Context, git *git.Repository) (lost bool, err error) {
	s := x.State()
	if git == nil || s.Capture == nil || s.Capture.Commit == "" || s.Capture.OnBranch() {
		return false, nil
	}
	if err := x.MakeRefs(ctx, git); err != nil {
		return false, err
	}
	exists, err := git.CommitExists(ctx, s.Capture.Commit)
	return !exists, err
}

// MakeRefs creates the references again that keep the session's captures in git and are
// missing, for the commits that git still has.
func (x *Session) MakeRefs(ctx context.Context, git *git.Repository) error {
	s := x.State()
	id, err := x.makeRefsID(ctx, git)
	if err != nil {
		return err
	}
	there, err := git.Refs(ctx, path.Dir(captureRef(s, id, 0)))
	if err != nil {
		return err
	}
	gone := keptCommits(s, id)
	maps.DeleteFunc(gone, func(ref, _ string) bool { return there[ref] != "" })
	return git.KeepCommits(ctx, gone)
}

// keptCommits returns the commits that a session's captures need, by the name of the
// reference, with the given ID, that keeps each.
func keptCommits(s *state.State, id string) map[string]string {
	commits := map[string]string{}
	add := func(c *state.Capture) {
		if c != nil && c.Ref != "" && c.Commit != "" {
			commits[path.Join(path.Dir(captureRef(s, id, c.Seq)), path.Base(c.Ref))] = c.Commit
		}
	}
	add(s.Capture)
	add(s.RunCapture)
	for _, ref := range s.Checkpoints {
		add(ref.Capture)
	}
	return commits
}

// ownsRef reports whether this state directory made a reference, and for one of the given
// sessions. A reference without an ID, as earlier versions made them, has no owner:
// another state directory may have the same session.
func (s *Store) ownsRef(sessions map[string]bool, ref string) (bool, error) {
	session, _, ok := cutRefsID(path.Dir(ref))
	if !ok || !sessions[session+"/"] {
		return false, nil
	}
	mine, _, err := s.madeRef(ref)
	return mine, err
}
