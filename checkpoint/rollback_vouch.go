package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
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
	StepName string              // "" at the start
	Again    []*state.Workstream // done at the target and not then, so that they run again; in the order of their work
	Reason   string              // what is not known to come back
}

// EarlierGoneError says that the state to go to can't be read any more.
type EarlierGoneError struct {
	To      string // the checkpoint that was asked for
	Seq     uint64 // of the commit whose state it is
	Reason  string // why the state of the checkpoint itself does not do, "" where a rollback has begun
	Nearest string // the newest checkpoint before it that can be gone back to; "": none
	Err     error
}

func (e *EarlierGoneError) Error() string {
	since := ""
	if e.Reason != "" {
		since = ", and since then " + e.Reason
	}
	text := fmt.Sprintf("the files of %s were captured before it, at commit %d%s; no journal and no checkpoint has the state of that commit", e.To, e.Seq, since)
	if !errors.Is(e.Err, errCommitGone) {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return text
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
func (s *Store) targetOf(prd string, intent state.RollbackStarted) (state *state.State, err error) {
	err = s.Read(prd, func(snap *Snapshot) (bool, error) {
		if _, err := snap.find(prd, intent.To); err != nil {
			return false, err
		}
		state, err = s.targetIn(s.layout.PRDDir(prd), snap.State, intent)
		return false, err
	})
	return state, err
}

// targetIn is targetOf a session that lies in a directory.
func (s *Store) targetIn(dir string, of *state.State, intent state.RollbackStarted) (*state.State, error) {
	ref, err := of.FindCheckpoint(intent.To)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", intent.To, of.PRD, err)
	}
	file, err := s.readFileIn(dir, of, ref)
	if err != nil || intent.StateSeq == 0 {
		return stateOf(file), err
	}
	state, err := s.stateAfterIn(dir, of.PRD, intent.StateSeq)
	if err == nil {
		return state, nil
	}
	gone := &EarlierGoneError{To: intent.To, Seq: intent.StateSeq, Err: err}
	for _, ref := range of.MadeAt(intent.StateSeq) {
		if made, err := s.readFileIn(dir, of, ref); err == nil { // else another one may have it
			return made.State, nil
		}
	}
	return nil, gone
}

func stateOf(file *disk.CheckpointFile) *state.State {
	if file == nil {
		return nil
	}
	return file.State
}

// vouchedState has a rollback take the state of the last capture before its target
// where the target's files are not known to be all that its state needs.
func (s *Store) vouchedState(ctx context.Context, w *workspace.Workspace, r *Rollback, now *state.State) error {
	if vouchedByCapture(r.state) {
		return nil
	}
	at := r.state.FilesAsOf()
	since := r.state.DoneSince(at)
	reason, err := s.unvouched(ctx, w, now, r.state, since)
	if err != nil || reason == "" {
		return err
	}
	state, err := s.capturedState(now, r.Target, at)
	if err != nil {
		nearest, lookErr := s.nearestVouched(ctx, w, now, r.Target)
		if lookErr != nil {
			return lookErr
		}
		return &EarlierGoneError{To: r.Target.ID, Seq: at, Reason: reason, Nearest: nearest, Err: err}
	}
	r.Earlier = &EarlierState{
		Seq: state.Seq, At: r.state.Capture.At, Step: state.CurrentStep(), StepName: state.StepName(), Again: since, Reason: reason,
	}
	r.state = state
	return nil
}

// vouchedByCapture reports whether the files of a state are of its own moment: nothing was
// done since they were captured. It is so, too, where they never were: only recorded
// artifacts come back then.
func vouchedByCapture(s *state.State) bool {
	at := s.FilesAsOf()
	return at == 0 || len(s.DoneSince(at)) == 0
}

// capturedState returns the state as of which the files of a checkpoint were captured. A
// journal that was begun anew no longer reaches back to that commit. Then the state is
// that of the first checkpoint since that has the same files, with nothing done in between.
func (s *Store) capturedState(now *state.State, target *state.CheckpointRef, at uint64) (*state.State, error) {
	state, gone := s.stateAfter(now.PRD, at)
	if gone == nil {
		return state, nil
	}
	for _, ref := range now.Checkpoints {
		if ref.Seq < at || ref.Seq >= target.Seq || ref.InvalidatedBy != "" {
			continue
		}
		file, err := s.ReadFile(now, ref)
		if err == nil && file.State.FilesAsOf() == at && vouchedByCapture(file.State) { // else another one may do
			return file.State, nil
		}
	}
	return nil, gone
}

// nearestVouched names the newest checkpoint before another one to which a rollback can
// go without the state of another moment, "" where there is none.
func (s *Store) nearestVouched(ctx context.Context, w *workspace.Workspace, now *state.State, target *state.CheckpointRef) (string, error) {
	check := newChecker(s, w, false)
	at := StoredSession{PRD: now.PRD, Place: PlaceCurrent, Dir: s.layout.PRDDir(now.PRD), State: now}
	for _, ref := range slices.Backward(now.Checkpoints) {
		if ref.Seq >= target.Seq || ref.InvalidatedBy != "" || ref.Damage != nil {
			continue
		}
		file, err := s.ReadFile(now, ref)
		if err != nil || !vouchedByCapture(file.State) {
			continue
		}
		found, err := check.check(ctx, at, ref)
		if err != nil {
			return "", err
		}
		if found.Whole() {
			return ref.ID, nil
		}
	}
	return "", nil
}

// unvouched says what some workstreams, whose work was recorded after the last capture
// of a state, may have left that would not come back. "": all of that comes back from
// recorded artifacts, and nothing else changed between the captures around that moment.
func (s *Store) unvouched(ctx context.Context, w *workspace.Workspace, now, st *state.State, since []*state.Workstream) (string, error) {
	at := st.FilesAsOf()
	for _, done := range since {
		for _, a := range done.Artifacts {
			if a.LeftOut {
				return fmt.Sprintf("the bytes of %s are not kept", a.Path), nil
			}
		}
	}
	recorded := state.RecordedEntries(st, at)
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
		return "", st.Capture.Unloaded(err)
	}
	is, scope, later, err := s.filesAfter(ctx, w, now, st, was)
	if err != nil {
		return "", err
	}
	if is == nil {
		return "what was captured next is lost", nil
	}
	comesBack, madeLater := pathsOf(recorded), pathsOf(state.RecordedEntries(later, st.Seq))
	both, apart := workspace.Apart(workspace.Diff(was, is), st.Capture.Scope(was.Patterns), scope)
	explained := func(c workspace.Change) bool {
		// What a later workstream made is its own. What it changed may have been changed before.
		return comesBack[c.Path] || c.From == nil && madeLater[c.Path] || was.Lacks(c.Path) || is.Lacks(c.Path)
	}
	for _, c := range both {
		if !explained(c) {
			return fmt.Sprintf("%s was %s, and is no artifact", c.Path, c.Kind), nil
		}
	}
	for _, c := range apart {
		if !explained(c) {
			return c.Path + " is in only one of the captures around it, and is no artifact", nil
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
// as they are now; a capture that is lost has none, nil. The scope is what was looked at.
func (s *Store) filesAfter(ctx context.Context, w *workspace.Workspace, now, st *state.State, was *workspace.Listing) (*workspace.Listing, workspace.Scope, *state.State, error) {
	none, next, later := workspace.Scope{}, now.Capture, now
	if next != nil && next.Seq <= st.Seq {
		next = nil
	}
	var of *state.CheckpointRef
	for _, ref := range now.Checkpoints {
		if c := ref.Capture; c != nil && c.Seq > st.Seq && (next == nil || c.Seq < next.Seq) {
			next, of = c, ref
		}
	}
	if next == nil {
		patterns, err := s.CapturePatterns(ctx, w, now)
		if err != nil {
			return nil, none, nil, err
		}
		is, err := w.Now(ctx, union(patterns, was.Patterns))
		if err != nil {
			return nil, none, nil, fmt.Errorf("look at the workspace: %w", err)
		}
		return is, workspace.Scope{Git: w.Git() != nil, Patterns: is.Patterns}, now, nil
	}
	if of != nil {
		file, err := s.ReadFile(now, of)
		var damaged *state.DamagedError
		switch {
		case err == nil:
			later = file.State
		case !errors.As(err, &damaged):
			return nil, none, nil, err
		}
	}
	is, err := w.Load(ctx, next.Listing)
	switch {
	case isLost(err):
		return nil, none, nil, nil
	case err != nil:
		return nil, none, nil, next.Unloaded(err)
	}
	return is, next.Scope(is.Patterns), later, nil
}
