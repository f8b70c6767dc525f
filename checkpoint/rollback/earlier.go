package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
)

// The restored state is never newer than the restored files. The files of a checkpoint are
// those of the last capture before it, with the artifacts that were recorded since. A
// workstream that completed after that capture may have left other files, which no capture
// holds. Its record must not come back without them. So the rollback takes the state at
// the moment of the capture instead.

// EarlierState is the commit whose state a rollback takes instead of its target's.
type EarlierState struct {
	Seq      uint64    // of that commit
	At       time.Time // when the files were captured
	Step     int
	StepName string // "" before the first step
	// Again holds the workstreams that are complete at the target and not in this state, so
	// that they run again. They are in the order in which their work was recorded.
	Again  []*state.Workstream
	Reason string // which files may not come back
}

// EarlierGoneError is returned if the earlier state that a rollback needs can't be read
// any more.
type EarlierGoneError struct {
	To      string // ID of the target
	Seq     uint64 // of the commit whose state is needed
	Reason  string // why the target's own state can't be used, "" if the rollback has begun
	Nearest string // the newest earlier checkpoint that a rollback can go back to, "" if there is none
	Err     error
}

func (e *EarlierGoneError) Error() string {
	since := ""
	if e.Reason != "" {
		since = ", and since then " + e.Reason
	}
	text := fmt.Sprintf("the files of %s were captured before it, at commit %d%s; no journal and no checkpoint has the state of that commit", e.To, e.Seq, since)
	if !errors.Is(e.Err, reader.ErrCommitGone) {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return text
}

func (e *EarlierGoneError) Unwrap() error { return e.Err }

// ToStep returns the session's current step after the rollback.
func (r *Plan) ToStep() int {
	if r.Earlier != nil {
		return r.Earlier.Step
	}
	return r.Target.Step
}

// stateSeq returns the commit of the earlier state that the rollback takes, 0 if it takes
// the target's own.
func (r *Plan) stateSeq() uint64 {
	if r.Earlier != nil {
		return r.Earlier.Seq
	}
	return 0
}

// targetOf returns the state that a rollback of the PRD's current session takes.
func targetOf(s *checkpoint.Store, prd string, intent state.RollbackStarted) (state *state.State, err error) {
	err = s.Read(prd, func(snap *checkpoint.Snapshot) (bool, error) {
		if _, err := snap.FindCheckpoint(prd, intent.To); err != nil {
			return false, err
		}
		state, err = targetIn(s, s.Layout().PRDDir(prd), snap.State, intent)
		return false, err
	})
	return state, err
}

// targetIn returns the state that a rollback takes, for a session that lies in a
// directory.
func targetIn(s *checkpoint.Store, dir string, of *state.State, intent state.RollbackStarted) (*state.State, error) {
	ref, err := of.FindCheckpoint(intent.To)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", intent.To, of.PRD, err)
	}
	file, err := s.Reader().Session(of.PRD, dir).ReadCheckpoint(of, ref)
	if err != nil || intent.StateSeq == 0 {
		return stateOf(file), err
	}
	state, err := s.Reader().Session(of.PRD, dir).StateAfter(intent.StateSeq)
	if err == nil {
		return state, nil
	}
	gone := &EarlierGoneError{To: intent.To, Seq: intent.StateSeq, Err: err}
	for _, ref := range of.MadeAt(intent.StateSeq) {
		if made, err := s.Reader().Session(of.PRD, dir).ReadCheckpoint(of, ref); err == nil { // if unreadable, another checkpoint may have the state
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

// useProvedState makes the rollback take the state of the last capture before its
// target, if the target's files may lack something that its own state needs.
func useProvedState(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, r *Plan, now *state.State) error {
	if vouchedByCapture(r.state) {
		return nil
	}
	at := r.state.FilesAsOf()
	since := r.state.DoneSince(at)
	reason, err := whyUnproved(ctx, s, w, now, r.state, since)
	if err != nil || reason == "" {
		return err
	}
	state, err := capturedState(s, now, r.Target, at)
	if err != nil {
		nearest, lookErr := nearestVouched(ctx, s, w, now, r.Target)
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

// vouchedByCapture reports whether no work was recorded after the files of a state were
// captured, so that the files match it. It also reports true if the files were never
// captured: then only recorded artifacts are restored.
func vouchedByCapture(s *state.State) bool {
	at := s.FilesAsOf()
	return at == 0 || len(s.DoneSince(at)) == 0
}

// capturedState returns the state at the commit at which the files of a checkpoint were
// captured. A journal that was started anew may not reach back to that commit. Then it
// returns the state of the first later checkpoint with the same files and no work recorded
// in between.
func capturedState(s *checkpoint.Store, now *state.State, target *state.CheckpointRef, at uint64) (*state.State, error) {
	state, gone := s.Reader().CurrentSession(now.PRD).StateAfter(at)
	if gone == nil {
		return state, nil
	}
	for _, ref := range now.Checkpoints {
		if ref.Seq < at || ref.Seq >= target.Seq || ref.InvalidatedBy != "" {
			continue
		}
		file, err := s.ReadFile(now, ref)
		if err == nil && file.State.FilesAsOf() == at && vouchedByCapture(file.State) { // if not, a later checkpoint may serve
			return file.State, nil
		}
	}
	return nil, gone
}

// nearestVouched returns the newest checkpoint before the target to which a rollback can
// go with the checkpoint's own state, "" if there is none.
func nearestVouched(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now *state.State, target *state.CheckpointRef) (string, error) {
	vouched := func(yield func(*state.CheckpointRef) bool) {
		for _, ref := range slices.Backward(now.Checkpoints) {
			if ref.Seq >= target.Seq || ref.InvalidatedBy != "" || ref.Damage != nil {
				continue
			}
			file, err := s.ReadFile(now, ref)
			if err == nil && vouchedByCapture(file.State) && !yield(ref) {
				return
			}
		}
	}
	of := reader.StoredSession{PRD: now.PRD, Place: disk.PlaceCurrent, Dir: s.Layout().PRDDir(now.PRD), State: now}
	ref, err := validate.FirstWhole(ctx, s, w, of, vouched)
	if err != nil || ref == nil {
		return "", err
	}
	return ref.ID, nil
}

// whyUnproved returns why files of the workstreams in since may not come back. These
// workstreams completed after the last capture of the state st. It returns "" if all their
// files come back from recorded artifacts, and nothing else changed between the captures
// before and after st.
func whyUnproved(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now, st *state.State, since []*state.Workstream) (string, error) {
	at := st.FilesAsOf()
	for _, done := range since {
		for _, a := range done.Artifacts {
			if a.LeftOut {
				return fmt.Sprintf("the bytes of %s are not kept", a.Path), nil
			}
		}
	}
	recorded := state.RecordedEntries(st, at)
	lost, err := w.Contents().Lost(ctx, recorded, false)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for recorded artifacts: %w", err)
	case len(lost) > 0:
		return fmt.Sprintf("%s can't be restored: %s", lost[0].Path, lost[0].Reason), nil
	}
	was, err := w.Load(ctx, st.Capture.Listing)
	if objects.IsLost(err) {
		return "", nil // compareFiles refuses the rollback for this
	}
	if err != nil {
		return "", st.Capture.Unloaded(err)
	}
	is, scope, later, err := filesAfter(ctx, s, w, now, st, was)
	if err != nil {
		return "", err
	}
	if is == nil {
		return "what was captured next is lost", nil
	}
	comesBack, madeLater := pathsOf(recorded), pathsOf(state.RecordedEntries(later, st.Seq))
	both, apart := workspace.SplitByScope(workspace.Diff(was, is), st.Capture.Scope(was.Patterns), scope)
	explained := func(c workspace.Change) bool {
		// A file that was added may be the work of a later workstream. A file that was
		// modified may have been modified before that, by a workstream in since.
		return comesBack[c.Path] || c.From == nil && madeLater[c.Path] || was.Lacks(c.Path) || is.Lacks(c.Path)
	}
	for _, c := range both {
		if !explained(c) {
			return fmt.Sprintf("%s was %s, and is not recorded as an artifact", c.Path, c.Kind), nil
		}
	}
	for _, c := range apart {
		if !explained(c) {
			return c.Path + " is in only one of the captures around it, and is not recorded as an artifact", nil
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

// filesAfter returns the files of the first capture after a state, with the capture's
// scope and the state that tells which artifacts were recorded by then. If there is no
// later capture, it lists the present files. If the capture's list is lost, the returned
// listing is nil.
func filesAfter(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, now, st *state.State, was *workspace.Listing) (*workspace.Listing, workspace.Scope, *state.State, error) {
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
		is, err := w.Now(ctx, sortedUnion(patterns, was.Patterns))
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
	case objects.IsLost(err):
		return nil, none, nil, nil
	case err != nil:
		return nil, none, nil, next.Unloaded(err)
	}
	return is, next.Scope(is.Patterns), later, nil
}
