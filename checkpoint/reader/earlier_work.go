package reader

import (
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
)

// EarlierWork returns the recorded work of an uncertain workstream: its work under another
// name, or in its last attempt before a rollback removed that from the state. It is nil if
// there was none, or its record is lost.
func (r Reader) EarlierWork(st *state.State, workstream string) (*state.Work, error) {
	w := st.Workstream(workstream)
	if w == nil || w.Status != state.Uncertain {
		return nil, nil //nolint:nilnil // documented above
	}
	if of := st.Workstream(w.SameAs); of != nil && w.Attempts == 0 {
		if !of.Worked() {
			return nil, nil //nolint:nilnil // documented above
		}
		work := st.WorkOf(of)
		work.Attempt = w.Attempts
		return work, nil
	}
	return takenBack(r.CurrentSession(st.PRD), st, w)
}

// takenBack returns the work that a rollback removed from the state, as recorded in the
// checkpoint that would undo the rollback.
func takenBack(session Session, st *state.State, w *state.Workstream) (*state.Work, error) {
	for _, past := range slices.Backward(st.Rollbacks) {
		ref := st.Checkpoint(past.Safety)
		if ref == nil || past.Error != "" {
			continue
		}
		file, err := session.ReadCheckpoint(st, ref)
		var damaged *state.DamagedError
		if errors.As(err, &damaged) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for what a rollback took back of %s: %w", w.Name, err)
		}
		had := file.State.Workstream(w.Name)
		switch {
		case had == nil || had.Attempts != w.Attempts: // the workstream was started again since
			return nil, nil //nolint:nilnil // documented above
		case had.Worked():
			return file.State.WorkOf(had), nil
		}
	}
	return nil, nil //nolint:nilnil // documented above
}
