package protect

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

// UnfinishedError says that what a workstream changed is not rolled back, so that files and
// databases may be changed in part.
type UnfinishedError struct {
	state.Protection
	Err error
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("what %s changed is not rolled back to %s: %v", e.Workstream, e.Checkpoint, e.Err)
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// Finish carries out the rollbacks that are due in a session: of workstreams that had not
// passed when their runner was killed, or whose gate was rejected since. Nothing runs. Each
// is recorded durably, and then passed to done with a warning, which may be "". The error
// of a rollback is an *UnfinishedError; the next call tries again.
func (k *Keeper) Finish(ctx context.Context, session *checkpoint.Session, done func(e state.ProtectionRolledBack, warning string)) error {
	for _, p := range session.State().RollbacksDue() {
		st := session.State()
		rolledBack, err := k.RollBack(ctx, p, st.KeyValues(p.Keys))
		if err != nil {
			return &UnfinishedError{p, err}
		}
		e := rolledBack.Event(p, whyDue(st, p))
		session.Add(e)
		if err := session.Publish(ctx); err != nil {
			return fmt.Errorf("record the rollback of %s: %w", p.Workstream, err)
		}
		done(e, rolledBack.Warning(p.Workstream))
	}
	return nil
}

// whyDue says why a rollback is due.
func whyDue(st *state.State, p state.Protection) string {
	w := st.Workstream(p.Workstream)
	switch {
	case w == nil:
		return "the pipeline no longer has it"
	case w.FailedGate() != nil:
		return w.FailedGate().Label + " did not pass"
	case w.Status == state.Failed && w.Error != nil:
		return string(w.Error.Message)
	case w.Status == state.Pending && w.Reason != "":
		return string(w.Reason)
	}
	return fmt.Sprintf("attempt %d was cut short", p.Attempt)
}
