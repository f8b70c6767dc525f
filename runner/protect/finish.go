package protect

import (
	"context"
	"errors"
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

// Finished is a rollback that Finish carried out.
type Finished struct {
	Event   state.ProtectionRolledBack
	Warning string         // "": none
	Commits []state.Commit // the durable commits that record it
}

// Finish carries out rollbacks in a session in which nothing runs: those that are due from
// runs that were killed and rejections between runs, and perhaps further ones. Each is
// recorded durably, and then passed to done. Finish also records which changes are kept. The
// error of a rollback is an *UnfinishedError; the next call tries again.
func (k *Keeper) Finish(ctx context.Context, session *checkpoint.Session, due []state.Protection, done func(Finished)) error {
	for _, p := range session.State().KeptProtections() {
		session.Add(state.ProtectionKept{Workstream: p.Workstream, Checkpoint: p.Checkpoint, Reason: "on_failure is keep"})
	}
	for _, p := range due {
		st := session.State()
		rolledBack, err := k.RollBack(ctx, p, st.KeyValues(p.Keys))
		if err != nil {
			_, unrecorded := session.Drain(context.WithoutCancel(ctx))
			return errors.Join(&UnfinishedError{p, err}, unrecorded)
		}
		e := rolledBack.Event(p, whyDue(st, p))
		session.Add(e)
		commits, err := session.Drain(context.WithoutCancel(ctx))
		if err != nil {
			return fmt.Errorf("record the rollback of %s: %w", p.Workstream, err)
		}
		done(Finished{e, rolledBack.Warning(p.Workstream), commits})
	}
	_, err := session.Drain(context.WithoutCancel(ctx))
	return err
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
	case w.Done():
		return "its gates have not passed"
	}
	return fmt.Sprintf("attempt %d was cut short", p.Attempt)
}
