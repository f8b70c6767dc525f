package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prdrunner/checkpoint/workspace"
)

// State is never newer than the files that it vouches for. The files of a checkpoint
// are those of the last capture before it, with the artifacts that were recorded since.
// Where a workstream may have left more than that, which no capture holds, its record
// must not come back without it: the state goes to the moment of the capture.

// EarlierState is the moment to whose state a rollback goes in place of its target's.
type EarlierState struct {
	Seq      uint64    // of the commit
	At       time.Time // when the files were captured last
	Step     int
	StepName string        // "" at the start
	Again    []*Workstream // done at the target and not then, so that they run again; in the order of their work
	Reason   string        // what is not known to come back
}

// EarlierGoneError says that the state to go to can't be read any more.
type EarlierGoneError struct {
	To  string // the checkpoint that was asked for
	Seq uint64 // of the commit whose state it is
	Err error
}

func (e *EarlierGoneError) Error() string {
	return fmt.Sprintf("the files of %s are those of commit %d, and the state of then can't be read: %v", e.To, e.Seq, e.Err)
}

func (e *EarlierGoneError) Unwrap() error { return e.Err }

// ToStep is the step at which the session stands after the rollback.
func (r *Rollback) ToStep() int {
	if r.Earlier != nil {
		return r.Earlier.Step
	}
	return r.Target.Step
}

// stateSeq is the commit whose state the rollback takes where that is earlier than the
// target, else 0.
func (r *Rollback) stateSeq() uint64 {
	if r.Earlier != nil {
		return r.Earlier.Seq
	}
	return 0
}

// targetOf returns the state that a rollback takes.
func (s *Store) targetOf(prd string, intent RollbackStarted) (*State, error) {
	file, err := s.ReadCheckpoint(prd, intent.To)
	if err != nil {
		return nil, err
	}
	if intent.StateSeq == 0 {
		return file.State, nil
	}
	state, err := s.stateAfter(prd, intent.StateSeq)
	if err != nil {
		return nil, &EarlierGoneError{To: intent.To, Seq: intent.StateSeq, Err: err}
	}
	return state, nil
}

// vouchedState has a rollback take the state of the last capture before its target
// where the target's files are not known to be all that its state needs.
func (s *Store) vouchedState(ctx context.Context, w *workspace.Workspace, r *Rollback, now *State) error {
	at := r.state.filesAsOf()
	since := r.state.doneSince(at)
	if at == 0 || len(since) == 0 {
		return nil // nothing was ever captured, or nothing done since
	}
	reason, err := s.unvouched(ctx, w, now, r.state, since)
	if err != nil || reason == "" {
		return err
	}
	state, err := s.stateAfter(now.PRD, at)
	if err != nil {
		return &EarlierGoneError{To: r.Target.ID, Seq: at, Err: err}
	}
	r.Earlier = &EarlierState{
		Seq: at, At: r.state.Capture.At, Step: state.CurrentStep(), StepName: state.StepName(), Again: since, Reason: reason,
	}
	r.state = state
	return nil
}

// unvouched says what some workstreams, whose work was recorded after the last capture
// of a state, may have left that would not come back. "": all of that comes back from
// recorded artifacts, and nothing else changed between the captures around that moment.
func (s *Store) unvouched(ctx context.Context, w *workspace.Workspace, now, st *State, since []*Workstream) (string, error) {
	at := st.filesAsOf()
	for _, done := range since {
		for _, a := range done.Artifacts {
			if a.LeftOut {
				return fmt.Sprintf("the bytes of %s are not kept", a.Path), nil
			}
		}
	}
	recorded := recordedEntries(st, at)
	lost, err := w.Lost(ctx, recorded, false)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for recorded artifacts: %w", err)
	case len(lost) > 0:
		return fmt.Sprintf("%s can't be restored: %s", lost[0].Path, lost[0].Reason), nil
	}
	was, err := w.Load(ctx, st.Capture.Listing)
	if isLost(err) {
		return "", nil // the rollback is refused for that
	}
	if err != nil {
		return "", st.Capture.unloaded(err)
	}
	is, later, err := s.filesAfter(ctx, w, now, st, was)
	if err != nil {
		return "", err
	}
	if is == nil {
		return "what was captured next is lost", nil
	}
	comesBack, madeLater := pathsOf(recorded), pathsOf(recordedEntries(later, st.Seq))
	for _, c := range workspace.Diff(was, is) {
		// What a later workstream made is its own. What it changed may have been changed before.
		explained := comesBack[c.Path] || c.From == nil && madeLater[c.Path]
		if !explained && !was.Lacks(c.Path) && !is.Lacks(c.Path) {
			return fmt.Sprintf("%s was %s, and is no artifact", c.Path, c.Kind), nil
		}
	}
	return "", nil
}

func pathsOf(entries []workspace.Entry) map[string]bool {
	paths := make(map[string]bool, len(entries))
	for _, e := range entries {
		paths[e.Path] = true
	}
	return paths
}

// filesAfter returns the files of the first capture after a state, with the state that
// tells which artifacts were recorded by then. Where there is none, these are the files
// as they are now; a capture that is lost has none, nil.
func (s *Store) filesAfter(ctx context.Context, w *workspace.Workspace, now, st *State, was *workspace.Listing) (*workspace.Listing, *State, error) {
	next, later := now.Capture, now
	if next != nil && next.Seq <= st.Seq {
		next = nil
	}
	var of *CheckpointRef
	for _, ref := range now.Checkpoints {
		if c := ref.Capture; c != nil && c.Seq > st.Seq && (next == nil || c.Seq < next.Seq) {
			next, of = c, ref
		}
	}
	if next == nil {
		patterns, err := s.CapturePatterns(ctx, w, now)
		if err != nil {
			return nil, nil, err
		}
		is, err := w.Now(ctx, union(patterns, was.Patterns))
		if err != nil {
			return nil, nil, fmt.Errorf("look at the workspace: %w", err)
		}
		return is, now, nil
	}
	if of != nil {
		file, err := s.ReadFile(now, of)
		var damaged *DamagedError
		switch {
		case err == nil:
			later = file.State
		case !errors.As(err, &damaged):
			return nil, nil, err
		}
	}
	is, err := w.Load(ctx, next.Listing)
	switch {
	case isLost(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, next.unloaded(err)
	}
	return is, later, nil
}
