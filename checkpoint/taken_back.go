package checkpoint

import (
	"errors"
	"fmt"
	"slices"
)

// TakenBack returns the work that a step which must happen only once had on
// record, and that a rollback took back: nil where the step is not uncertain,
// where its last attempt had not completed, and where the record is lost. It is
// read off the checkpoints that undo rollbacks.
func (s *Store) TakenBack(st *State, workstream string) (*Work, error) {
	w := st.Workstream(workstream)
	if w == nil || w.Status != Uncertain {
		return nil, nil //nolint:nilnil // documented above
	}
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
			return nil, fmt.Errorf("look for what a rollback took back of %s: %w", workstream, err)
		}
		had := file.State.Workstream(workstream)
		switch {
		case had == nil || had.Attempts != w.Attempts: // it was started again since
			return nil, nil //nolint:nilnil // documented above
		case had.WorkSeq > 0 && (had.Status == Completed || had.Status == Succeeded):
			return file.State.workOf(had), nil
		}
	}
	return nil, nil //nolint:nilnil // documented above
}

// workOf is what a workstream has on record, as the event had it that recorded it.
func (s *State) workOf(w *Workstream) *Work {
	work := &Work{
		Attempt: w.Attempts, DurationMS: w.DurationMS, Digest: w.Digest, Outputs: w.Outputs,
		Artifacts: w.Artifacts, Summary: w.Summary, Location: w.Location,
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
