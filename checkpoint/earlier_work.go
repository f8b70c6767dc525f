package checkpoint

import (
	"errors"
	"fmt"
	"slices"
)

// EarlierWork returns the work that an uncertain workstream has had on record:
// under another name, or in its last attempt, before a rollback took that back.
// It is nil where there was none, and where its record is lost.
func (s *Store) EarlierWork(st *State, workstream string) (*Work, error) {
	w := st.Workstream(workstream)
	if w == nil || w.Status != Uncertain {
		return nil, nil //nolint:nilnil // documented above
	}
	if of := st.Workstream(w.SameAs); of != nil && w.Attempts == 0 {
		if !of.worked() {
			return nil, nil //nolint:nilnil // documented above
		}
		work := st.workOf(of)
		work.Attempt = w.Attempts
		return work, nil
	}
	return s.takenBack(st, w)
}

// takenBack reads it off the checkpoints that undo rollbacks.
func (s *Store) takenBack(st *State, w *Workstream) (*Work, error) {
	for _, past := range slices.Backward(st.Rollbacks) {
		ref := st.indexed().checkpoints[past.Safety]
		if ref == nil || past.Error != "" {
			continue
		}
		file, err := s.ReadFile(st, ref)
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for what a rollback took back of %s: %w", w.Name, err)
		}
		had := file.State.Workstream(w.Name)
		switch {
		case had == nil || had.Attempts != w.Attempts: // it was started again since
			return nil, nil //nolint:nilnil // documented above
		case had.worked():
			return file.State.workOf(had), nil
		}
	}
	return nil, nil //nolint:nilnil // documented above
}

// worked reports whether work is on record that was done.
func (w *Workstream) worked() bool {
	return w.WorkSeq > 0 && (w.Status == Completed || w.Status == Succeeded)
}

// workOf is what a workstream has on record, as the event had it that recorded it.
func (s *State) workOf(w *Workstream) *Work {
	work := &Work{
		Attempt: w.Attempts, DurationMS: w.DurationMS, Digest: w.Digest, Outputs: w.Outputs,
		Artifacts: w.Artifacts, Summary: w.Summary, Location: w.Location, Cached: w.Cached,
	}
	for _, name := range w.Metrics {
		if m := s.Metrics[name]; m.Workstream == w.Name { // another may have set it since
			if work.Metrics == nil {
				work.Metrics = make(map[string]any)
			}
			work.Metrics[name] = m.Value
		}
	}
	return work
}
