package repair

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// RollbackEnd is how a rollback ended, as far as a damaged journal and the manifest tell.
type RollbackEnd string

// The ends of rollbacks.
const (
	RollbackCarriedOut RollbackEnd = "completed"
	RollbackTakenBack  RollbackEnd = "failed"
	RollbackUnfinished RollbackEnd = "unfinished" // no commit followed: the next owner finishes the rollback
	RollbackUntold     RollbackEnd = "unknown"    // Runner does not finish the rollback, since that could undo later work
)

// MetRollback is a rollback that was under way in the state that the new journal begins
// with, or that began in a lost commit.
type MetRollback struct {
	ID     string              `json:"id"`
	To     string              `json:"to_checkpoint"`
	Safety string              `json:"safety_checkpoint"`
	Scope  state.RollbackScope `json:"scope"`
	End    RollbackEnd         `json:"end"`
}

func metRollback(b *state.RollbackStarted, end RollbackEnd) MetRollback {
	return MetRollback{ID: b.ID, To: b.To, Safety: b.Safety, Scope: b.Scope, End: end}
}

// rollbackEnd is the record of the end of a rollback.
type rollbackEnd struct {
	seq   uint64 // of the commit; 0 if the record is from the manifest
	at    time.Time
	event state.Event
}

// endRollback applies the end of the rollback that is under way in the chosen state. If no
// commit followed, the rollback stays under way. If the end is not known or can't be
// applied, the state becomes the one before the rollback, and the safety checkpoint is
// pinned. Runner does not finish such a rollback: files change only when the user asks for
// it.
func endRollback(s *checkpoint.Store, prd string, r *JournalRebuild, old *journal.Salvaged) error {
	if err := loseRollbacks(s, prd, r, old); err != nil {
		return err
	}
	begun := r.state.Rollback
	if begun == nil {
		return nil
	}
	found, err := findEnd(s, prd, r, old)
	if err != nil {
		return err
	}
	if _, more := old.Lost(r.FromSeq); found == nil && !more {
		r.Rollbacks = append(r.Rollbacks, metRollback(begun, RollbackUnfinished))
		return nil
	}
	if found != nil {
		ended := r.state.Clone()
		if err := ended.ApplyOne(ended.Seq, found.at, found.event); err == nil {
			end := RollbackCarriedOut
			if _, failed := found.event.(state.RollbackFailed); failed {
				end = RollbackTakenBack
			}
			r.state, r.Step, r.ended = ended, ended.CurrentStep(), found.seq
			r.Rollbacks = append(r.Rollbacks, metRollback(begun, end))
			return nil
		}
	}
	untold := state.RollbackFailed{ID: begun.ID, Error: "the journal was damaged: it is not known whether it was finished"}
	if err := r.state.ApplyOne(r.state.Seq, r.state.UpdatedAt, untold); err != nil {
		return fmt.Errorf("rebuild the journal of %s: %w", prd, err)
	}
	if safety := r.state.Checkpoint(begun.Safety); safety != nil {
		safety.Pinned = true
	}
	r.Rollbacks = append(r.Rollbacks, metRollback(begun, RollbackUntold))
	return nil
}

// findEnd searches for the end of the state's rollback: first in the readable lines, then
// in the history in the manifest. It returns nil if there is no end that can be applied to
// the state.
func findEnd(s *checkpoint.Store, prd string, r *JournalRebuild, old *journal.Salvaged) (*rollbackEnd, error) {
	begun := r.state.Rollback
	for _, c := range old.Since(r.FromSeq) {
		for i, e := range c.Events {
			if id, ok := endedRollback(e); ok && id == begun.ID {
				return &rollbackEnd{c.Seq, c.At(i), e}, nil
			}
		}
	}
	record := recordedRollback(s, prd, begun.ID)
	if record == nil {
		return nil, nil
	}
	if record.Error != "" {
		return &rollbackEnd{0, record.At, state.RollbackFailed{ID: begun.ID, Error: record.Error}}, nil
	}
	e := state.RollbackCompleted{ID: begun.ID, Skipped: record.Skipped}
	if begun.Scope != state.RollbackFiles {
		target, err := stateAt(s, prd, r.state.Session, *begun, old)
		if err != nil || target == nil {
			return nil, err
		}
		e.State = target
	}
	return &rollbackEnd{0, record.At, e}, nil
}

// endedRollback returns the id of the rollback that an event ends.
func endedRollback(e state.Event) (id string, ok bool) {
	switch e := e.(type) {
	case state.RollbackCompleted:
		return e.ID, true
	case state.RollbackFailed:
		return e.ID, true
	}
	return "", false
}

// recordedRollback returns the manifest's record of a rollback that ended, nil if the
// manifest is damaged or has no such record.
func recordedRollback(s *checkpoint.Store, prd, id string) *state.RollbackRecord {
	m, err := s.Layout().ReadManifest(s.Layout().PRDDir(prd))
	if err != nil {
		return nil
	}
	if i := slices.IndexFunc(m.Rollbacks, func(past state.RollbackRecord) bool { return past.ID == id }); i >= 0 {
		return &m.Rollbacks[i]
	}
	return nil
}

// stateAt returns the state that a rollback restores. This is the state of the checkpoint
// To, from its file or from the readable lines of the journals, or nil if neither has it.
// If begun.StateSeq names an earlier state, that state is in whole journals, and in the
// files of checkpoints that were made at that commit.
func stateAt(s *checkpoint.Store, prd, session string, begun state.RollbackStarted, old *journal.Salvaged) (*state.State, error) {
	if begun.StateSeq != 0 {
		if state, err := s.Reader().CurrentSession(prd).StateAfter(begun.StateSeq); err == nil { // an error means damage: try the files
			return state, nil
		}
	}
	files, err := fileStates(s, prd)
	if err != nil {
		return nil, err
	}
	for _, c := range files {
		if begun.StateSeq == 0 && c.id == begun.To || c.seq == begun.StateSeq && c.state.Session == session {
			return c.state.Clone(), nil
		}
	}
	if begun.StateSeq != 0 {
		return nil, nil
	}
	id := begun.To
	var found *state.State
	k := journal.CheckpointCollector{Fold: journal.NewFold(), IDs: map[string]bool{id: true}, Found: map[string]bool{}, Made: func(f disk.CheckpointFile) error {
		found = f.State.Clone()
		return nil
	}}
	return found, collectLines(s, prd, k, old)
}

// loseRollbacks records the rollbacks that began in lost commits and are not known to have
// ended.
func loseRollbacks(s *checkpoint.Store, prd string, r *JournalRebuild, old *journal.Salvaged) error {
	open := map[string]*state.RollbackStarted{}
	var order []string
	for _, c := range old.Since(r.FromSeq) {
		for _, e := range c.Events {
			if begun, ok := e.(state.RollbackStarted); ok {
				open[begun.ID] = &begun
				order = append(order, begun.ID)
			}
			if id, ok := endedRollback(e); ok {
				delete(open, id)
			}
		}
	}
	for _, id := range order {
		if begun := open[id]; begun != nil && recordedRollback(s, prd, id) == nil {
			r.Rollbacks = append(r.Rollbacks, metRollback(begun, RollbackUntold))
		}
	}
	return nil
}

// collectLines passes the commits of the segments, and those before the damage, to a
// collector of checkpoints.
func collectLines(s *checkpoint.Store, prd string, k journal.CheckpointCollector, old *journal.Salvaged) error {
	if err := old.EachValid(k.Visit); err != nil {
		return err
	}
	return collectSegments(s, prd, k)
}
