package state

import (
	"fmt"
	"maps"
	"slices"
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
// and what counts back from it are the valid ones before, or, where none is
// valid, the damaged ones. A step's is that of the moment when it completed, 0
// being the start: where that is damaged, it is not another one of the same
// number. Those that undo a rollback are found by their ids only.
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
		return nil, &UnknownCheckpointError{Ref: ref}
	case 1:
		return found[0], nil
	}
	ambiguous := &AmbiguousError{Ref: ref}
	for _, r := range found {
		ambiguous.Candidates = append(ambiguous.Candidates, r.ID)
	}
	return nil, ambiguous
}

// Names returns, by checkpoint id, the shortest other reference that FindCheckpoint
// accepts: the number of a step, or latest~N. A checkpoint that only its id finds has
// none.
func (s *State) Names() map[string]string {
	trail, line := s.ancestors(), s.ValidTrail()
	if len(line) == 0 {
		line = trail
	}
	names := make(map[string]string, len(trail))
	for step, r := range Moments(trail) {
		names[r.ID] = strconv.Itoa(step)
	}
	for i, r := range slices.Backward(line) {
		if names[r.ID] == "" {
			names[r.ID] = fmt.Sprintf("latest~%d", len(line)-1-i)
		}
	}
	return names
}

// latest returns the checkpoint where the session stands, or a valid one that many before
// it.
func (s *State) latest(back int) (*CheckpointRef, error) {
	line := s.ValidTrail()
	if len(line) == 0 {
		line = s.ancestors()
	}
	if back >= len(line) {
		return nil, fmt.Errorf("%w: of the session as it stands, %d are valid", ErrNoCheckpoint, len(s.ValidTrail()))
	}
	return line[len(line)-1-back], nil
}

// PassedOver returns the damaged checkpoints that a reference of the form latest~N skipped
// on the way to the one it names. It is empty for other references.
func (s *State) PassedOver(ref string, found *CheckpointRef) []string {
	if _, counts := cutLatest(ref); !counts || !found.Valid {
		return nil
	}
	var ids []string
	for _, r := range slices.Backward(s.ancestors()) {
		if r == found {
			break
		}
		if !r.Valid {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Moments returns, by step number, the checkpoint of the moment at which that step
// completed. A checkpoint is of that moment if no workstream and no file of one has
// changed since the step completed. Of several it is the first whose files were captured
// at the moment, else the first. For a step that completed more than once the last time
// counts.
func Moments(checkpoints []*CheckpointRef) map[int]*CheckpointRef {
	of := make(map[int]*CheckpointRef, len(checkpoints))
	for _, r := range slices.Backward(checkpoints) {
		newer := of[r.Step]
		if r.Later || newer != nil && newer.StepSeq != r.StepSeq {
			continue
		}
		if newer == nil || r.capturedAtStep() || !newer.capturedAtStep() {
			of[r.Step] = r
		}
	}
	return of
}

// capturedAtStep reports whether the files were captured after the step completed.
func (r *CheckpointRef) capturedAtStep() bool { return r.Capture != nil && r.Capture.Seq >= r.StepSeq }

// ofStep returns the checkpoint of the moment at which a step completed.
func (s *State) ofStep(step int) (*CheckpointRef, error) {
	trail := s.ancestors()
	of := Moments(trail)
	if r := of[step]; r != nil {
		return r, nil
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("%w: there is none of step %d, nor of any other step", ErrNoCheckpoint, step)
	}
	why := ""
	for _, r := range trail {
		if r.Step == step {
			why = fmt.Sprintf("; %s (%s) has its number, and is of later: name it by its id", r.ID, r.Trigger)
			break
		}
	}
	var list []string
	for _, n := range slices.Sorted(maps.Keys(of)) {
		list = append(list, strconv.Itoa(n))
	}
	return nil, fmt.Errorf("%w: there is none of step %d, only of %s%s", ErrNoCheckpoint, step, strings.Join(list, ", "), why)
}

// OthersOfStep names the other valid checkpoints of a damaged checkpoint's step, as the
// end of a sentence. It returns "" if the step has no other.
func (s *State) OthersOfStep(damaged *CheckpointRef) string {
	var ids []string
	for _, r := range s.ValidTrail() {
		if r.Step == damaged.Step && !r.Later && r != damaged {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("; of step %d there is also %s", damaged.Step, strings.Join(ids, ", "))
}

// ancestors returns the checkpoints that led to the present state, oldest first, damaged
// ones included.
func (s *State) ancestors() []*CheckpointRef {
	var trail []*CheckpointRef
	for _, r := range s.Checkpoints {
		if r.InvalidatedBy == "" && (r.Trigger != TriggerPreRollback || r.ID == s.Current) {
			trail = append(trail, r)
		}
	}
	return trail
}

// ValidTrail returns the valid checkpoints that led to the present state, oldest first.
func (s *State) ValidTrail() []*CheckpointRef {
	return slices.DeleteFunc(s.ancestors(), func(r *CheckpointRef) bool { return !r.Valid })
}

// CurrentCheckpoint returns the newest valid checkpoint, or the target of the last
// rollback if that came later. It is nil if the session has no valid checkpoint.
func (s *State) CurrentCheckpoint() *CheckpointRef {
	if line := s.ValidTrail(); len(line) > 0 {
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

// Unusable says why a rollback to the checkpoint is not possible, "" if it is.
func (ref *CheckpointRef) Unusable() string {
	switch {
	case ref.Damage != nil:
		return "damaged"
	case ref.Valid:
		return ""
	case ref.InvalidatedBy != "":
		return "invalid since rollback " + ref.InvalidatedBy
	}
	return "invalid"
}

// NewestUsable returns the newest checkpoint that a rollback can go to, or nil.
func (s *State) NewestUsable() *CheckpointRef {
	for i := len(s.Checkpoints) - 1; i >= 0; i-- {
		if ref := s.Checkpoints[i]; ref.Unusable() == "" {
			return ref
		}
	}
	return nil
}
