package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
)

// AmbiguousError says that a prefix fits several checkpoints.
type AmbiguousError struct {
	Ref        string
	Candidates []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is ambiguous: %s", e.Ref, strings.Join(e.Candidates, ", "))
}

// FindCheckpoint finds what a reference names: an id, a unique prefix of one,
// `latest`, `latest~N`, or a step number. `latest` is where the session stands,
// and what counts back from it are the valid ones before. Those that undo a
// rollback are found by their ids only.
func (s *State) FindCheckpoint(ref string) (*CheckpointRef, error) {
	if back, ok := cutLatest(ref); ok {
		return s.latest(back)
	}
	if step, err := strconv.Atoi(ref); err == nil {
		return s.ofStep(step)
	}
	var found []*CheckpointRef
	for _, r := range s.Checkpoints {
		if r.ID == ref {
			return r, nil
		}
		if ref != "" && strings.HasPrefix(r.ID, ref) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, ErrNoCheckpoint
	case 1:
		return found[0], nil
	}
	ambiguous := &AmbiguousError{Ref: ref}
	for _, r := range found {
		ambiguous.Candidates = append(ambiguous.Candidates, r.ID)
	}
	return nil, ambiguous
}

// latest returns the checkpoint at which the session stands, or a valid one
// before it.
func (s *State) latest(back int) (*CheckpointRef, error) {
	line := s.line()
	if back >= len(line) {
		return nil, fmt.Errorf("%w: of the session as it stands, %d are valid", ErrNoCheckpoint, len(line))
	}
	return line[len(line)-1-back], nil
}

// ofStep returns a step's newest valid checkpoint.
func (s *State) ofStep(step int) (*CheckpointRef, error) {
	line := s.line()
	for i := len(line) - 1; i >= 0; i-- {
		if line[i].Step == step {
			return line[i], nil
		}
	}
	return nil, fmt.Errorf("%w: none of step %d", ErrNoCheckpoint, step)
}

// line returns the valid checkpoints that led to where the session stands,
// oldest first.
func (s *State) line() []*CheckpointRef {
	var line []*CheckpointRef
	for _, r := range s.Checkpoints {
		if r.Valid && (r.Trigger != TriggerPreRollback || r.ID == s.Current) {
			line = append(line, r)
		}
	}
	return line
}

// CurrentCheckpoint returns the checkpoint at which the session stands: the
// newest valid one, or the one it went back to. It is nil where there is none.
func (s *State) CurrentCheckpoint() *CheckpointRef {
	if line := s.line(); len(line) > 0 {
		return line[len(line)-1]
	}
	return nil
}

// cutLatest reads `latest` and `latest~N`.
func cutLatest(ref string) (back int, ok bool) {
	rest, ok := strings.CutPrefix(ref, "latest")
	if !ok || rest == "" {
		return 0, ok
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "~"))
	return n, err == nil && rest[0] == '~' && n >= 0
}
