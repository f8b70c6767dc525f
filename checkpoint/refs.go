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

// captureRefsRoot is what the names of all git references of captures begin with.
const captureRefsRoot = "refs/runner/"

// refsIDSize is the length of what tells the references of state directories
// apart.
const refsIDSize = 8

// CaptureRefs is what the names of a PRD's git references begin with.
func CaptureRefs(prd string) string { return captureRefsRoot + disk.EncodeName(prd) + "/" }

// sessionRefs is what the names of a session's git references begin with, but
// for what tells the state directory.
func sessionRefs(s *state.State) string {
	session := s.Session
	if len(session) > 8 {
		session = session[:8]
	}
	return CaptureRefs(s.PRD) + disk.EncodeName(session) + "/"
}

// captureRef names the git reference of a capture. The id is that of the state
// directory: another one of the same repository may have the same session,
// imported, and neither may replace or remove what the other needs.
func captureRef(s *state.State, id string, seq uint64) string {
	return fmt.Sprintf("%s-%s/%d", strings.TrimSuffix(sessionRefs(s), "/"), id, seq)
}

// refKey is the name of a reference without what tells the state directory:
// the same for all that keep one capture of a session and of its copies.
func refKey(ref string) string {
	dir, seq := path.Split(ref)
	if session, _, ok := cutRefsID(strings.TrimSuffix(dir, "/")); ok {
		return session + "/" + seq
	}
	return ref
}

// cutRefsID takes the id off the directory of a reference.
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

// refsOwner is an id for references, and the state directory that it is of. A
// copy of that directory, which has the file too, must not go by it: each would
// remove what the other needs.
type refsOwner struct {
	ID   string     `json:"id"`
	Path state.Text `json:"path"`
	store.Identity
}

// is reports whether both are of one directory: one that was moved keeps its
// number on its device, and one on a file system that was mounted anew keeps its
// number and its path.
func (o refsOwner) is(other refsOwner) bool {
	sameDevice := o.Device != 0 && o.Device == other.Device
	return o.Number == other.Number && (sameDevice || o.Path == other.Path)
}

// refsIDPath is where a state directory keeps its id for the references of a
// PRD. Each PRD has one of its own, written under the PRD's lock. It is with the
// locks because those are of this place: no export takes them along.
func (s *Store) refsIDPath(encoded string) string {
	return filepath.Join(s.layout.Path, disk.LocksDir, encoded+".refs")
}

// refsID returns the id for the references of a PRD, "" where none was made for
// this state directory yet.
func (s *Store) refsID(encoded string) (string, error) {
	kept, _, err := s.readRefsOwner(encoded)
	return kept.ID, err
}

// readRefsOwner returns what is kept of the id for the references of a PRD, and
// what this state directory is. Where that is another one, or nothing is kept,
// there is no id; what cannot be one counts as none.
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

// refsOwner binds an id to this state directory.
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

// makeRefsID returns the id for the session's references, and makes it the
// first time, durable before a reference of a new capture has it in its name.
// It is kept with where the directory is now, so that the next move or mount is
// from there.
// What the session has captured already, in a state directory that this one was
// copied from, gets references of its own: those there are removed as soon as
// nothing needs them there.
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

// keepRefs makes the references again that are to keep the session's captures in git
// and are gone, as far as git has the commits, and reports whether it has lost that of
// the last one.
func (x *Session) keepRefs(ctx context.Context, git *git.Repository) (lost bool, err error) {
	s := x.State()
	if git == nil || s.Capture == nil || s.Capture.Commit == "" || s.Capture.OnBranch() {
		return false, nil
	}
	if err := x.makeRefs(ctx, git); err != nil {
		return false, err
	}
	exists, err := git.CommitExists(ctx, s.Capture.Commit)
	return !exists, err
}

// makeRefs makes the references again that are to keep the session's captures in git
// and are gone, as far as git has the commits.
func (x *Session) makeRefs(ctx context.Context, git *git.Repository) error {
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

// keptCommits are the commits that a session's captures need, by the references
// of an id that are to keep them.
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

// ownsRef reports whether a reference is one of the given sessions, and made by
// this state directory. Those without an id, as earlier versions made them, are
// nobody's: another state directory may have the same session.
func (s *Store) ownsRef(sessions map[string]bool, ref string) (bool, error) {
	session, _, ok := cutRefsID(path.Dir(ref))
	if !ok || !sessions[session+"/"] {
		return false, nil
	}
	mine, _, err := s.madeRef(ref)
	return mine, err
}
