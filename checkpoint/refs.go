package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"prdrunner/checkpoint/store"
)

// captureRefsRoot is what the names of all git references of captures begin with.
const captureRefsRoot = "refs/runner/"

// refsIDSize is the length of what tells the references of state directories
// apart.
const refsIDSize = 8

// CaptureRefs is what the names of a PRD's git references begin with.
func CaptureRefs(prd string) string { return captureRefsRoot + encodeName(prd) + "/" }

// sessionRefs is what the names of a session's git references begin with, where
// they do not tell the state directory, as those of earlier versions.
func sessionRefs(s *State) string {
	session := s.Session
	if len(session) > 8 {
		session = session[:8]
	}
	return CaptureRefs(s.PRD) + encodeName(session) + "/"
}

// captureRef names the git reference of a capture. The id is that of the state
// directory: another one of the same repository may have the same session,
// imported, and neither may replace or remove what the other needs.
func captureRef(s *State, id string, seq uint64) string {
	return fmt.Sprintf("%s-%s/%d", strings.TrimSuffix(sessionRefs(s), "/"), id, seq)
}

// refsIDPath is where a state directory keeps its id for the references of a
// PRD. Each PRD has one of its own, written under the PRD's lock. It is with the
// locks because those are of this place: no export takes them along.
func (s *Store) refsIDPath(encoded string) string {
	return filepath.Join(s.dir, locksDir, encoded+".refs")
}

// refsID returns the id for the references of a PRD, "" where none was made
// yet. What cannot be one counts as none.
func (s *Store) refsID(encoded string) (string, error) {
	data, err := store.ReadFile(s.fs, s.refsIDPath(encoded))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the id of this state directory's git references: %w", err)
	}
	id := strings.TrimSuffix(string(data), "\n")
	if len(id) != refsIDSize || strings.Trim(id, "0123456789abcdef") != "" {
		return "", nil
	}
	return id, nil
}

// makeRefsID returns the id for the session's references, and makes it the
// first time, durable before a reference has it in its name.
func (x *Session) makeRefsID() (string, error) {
	name := encodeName(x.prd)
	id, err := x.store.refsID(name)
	if err != nil || id != "" {
		return id, err
	}
	id = uuid.NewString()[:refsIDSize]
	if err := store.WriteFile(x.store.fs, x.store.refsIDPath(name), []byte(id+"\n")); err != nil {
		return "", fmt.Errorf("keep the id of this state directory's git references: %w", err)
	}
	return id, nil
}

// ownsRef reports whether a reference is one of the given sessions, made by
// this state directory or by a version that did not tell.
func (s *Store) ownsRef(sessions map[string]bool, ref string) (bool, error) {
	dir := ref[:strings.LastIndexByte(ref, '/')]
	if sessions[dir+"/"] {
		return true, nil
	}
	cut := len(dir) - refsIDSize - 1
	if cut < 0 || dir[cut] != '-' || !sessions[dir[:cut]+"/"] {
		return false, nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, captureRefsRoot), "/")
	id, err := s.refsID(name)
	return id != "" && id == dir[cut+1:], err
}
