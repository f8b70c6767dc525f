package isolate

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
)

// UnfinishedError says that a result is neither in the workspace as a whole nor taken back.
type UnfinishedError struct {
	Workstream string
	Err        error
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("finish the return of the result of %s: %v", e.Workstream, e.Err)
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// Finished says what became of a result whose return into the workspace was cut short.
type Finished struct {
	Workstream string
	Why        string         // why it is not in the workspace; "": it is
	Stay       []string       // files that stay as in the result all the same, since they could not be put back
	Commits    []state.Commit // the durable commits that record it
}

// String describes it for the user.
func (f Finished) String() string {
	if f.Why == "" {
		return "The result of " + f.Workstream + " is in the workspace"
	}
	s := fmt.Sprintf("the result of %s does not come back from its work tree: %s", f.Workstream, f.Why)
	if len(f.Stay) > 0 {
		s += "; " + Unreturned(f.Stay)
	}
	return s
}

// Unreturned says that files stay as in a result that is taken back.
func Unreturned(paths []string) string {
	return text.Enumerate(paths) + " can't be put back, and stays as in the result"
}

// Finish puts results into the workspace whose gates have passed, and whose return a kill has cut
// short, in a session in which nothing runs. If files that it would replace have changed meanwhile,
// or bytes are lost, what is there of the result is taken back, and the workstream runs again.
// With leaves, the caller leaves the work of the session as it stands, and all results are taken
// back. Each outcome is recorded durably, and then passed to done. After an *UnfinishedError, the
// next call tries again.
func Finish(ctx context.Context, session *checkpoint.Session, w *workspace.Workspace, leaves bool, done func(Finished)) error {
	for _, rec := range session.State().Returning() {
		f, err := finish(ctx, w, session.State().RestoreID(rec.Name), rec, leaves)
		if err != nil {
			return &UnfinishedError{rec.Name, err}
		}
		if f.Why == "" {
			session.Add(state.WorkstreamCompleted{Workstream: rec.Name})
		} else {
			session.Add(state.WorkstreamInterrupted{Workstream: rec.Name, Attempt: rec.Attempts})
		}
		if f.Commits, err = session.Drain(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("record what became of %s: %w", rec.Name, err)
		}
		done(f)
	}
	return nil
}

func finish(ctx context.Context, w *workspace.Workspace, id string, rec *state.Workstream, leaves bool) (Finished, error) {
	f := Finished{Workstream: rec.Name}
	var stay []workspace.Missing
	var err error
	if leaves {
		f.Why = "it had not come back as a whole"
		stay, err = TakeBack(ctx, w, id, rec.Artifacts, rec.Held.Before)
	} else {
		var s Settled
		if s, err = Settle(ctx, w, id, rec, true); s.Refused != nil {
			f.Why, stay = s.Refused.Error(), s.Stay
		}
	}
	for _, m := range stay {
		f.Stay = append(f.Stay, m.Path)
	}
	return f, err
}

// Settled says what became of a result whose gates have passed.
type Settled struct {
	Refused error               // why it is not in the workspace; nil: it is
	Stay    []workspace.Missing // files that stay as in the result all the same, since they could not be put back
}

// Settle puts the result of a workstream into the workspace. If files that it would replace have
// changed, or bytes are lost, it takes back what is there of the result. begun says that an earlier
// call may have put some of it there. After an error the result is neither in the workspace as a
// whole nor taken back, and Settle can be called again, with begun.
func Settle(ctx context.Context, w *workspace.Workspace, id string, rec *state.Workstream, begun bool) (Settled, error) {
	err := Return(ctx, w, id, rec.Artifacts, rec.Held.Before)
	var before *ChangedError
	var missing *workspace.MissingError
	switch {
	case err == nil:
		return Settled{}, nil
	case !workspace.IsChanged(err) && !errors.As(err, &missing):
		return Settled{}, err
	case !begun && errors.As(err, &before): // a file that is as in the result is somebody's edit
		return Settled{Refused: err}, nil
	}
	stay, undone := TakeBack(ctx, w, id, rec.Artifacts, rec.Held.Before)
	if undone != nil {
		return Settled{}, fmt.Errorf("%w, after: %s", undone, err.Error())
	}
	return Settled{Refused: err, Stay: stay}, nil
}
