package checkpoint

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// The tests of this package cannot import package rollback, which imports this one. They
// record rollbacks with the events that package rollback records, and restore no files.

// beginRollback records the beginning of a rollback, and the checkpoint that undoes it.
func beginRollback(x *Session, to string, scope state.RollbackScope) error {
	if x.State().Rollback != nil {
		return UnfinishedRollback(x.State())
	}
	ref, err := x.State().FindCheckpoint(to)
	if err != nil {
		return err
	}
	if _, err := x.store.ReadFile(x.State(), ref); err != nil {
		return err
	}
	safety, made := x.CheckpointKeeping(state.TriggerPreRollback, "", nil, map[string]string{ref.ID: "a rollback goes back to it"})
	if !made {
		return fmt.Errorf("roll back: %w", ErrSwitchedOff)
	}
	x.Add(state.RollbackStarted{ID: uuid.NewString(), To: ref.ID, ToSeq: ref.Seq, ToStep: ref.Step, Safety: safety, Scope: scope, By: by})
	return x.Commit(context.Background())
}

// endRollback records the end of the rollback that was begun.
func endRollback(x *Session) error {
	intent := *x.State().Rollback
	file, err := x.store.ReadCheckpoint(x.prd, intent.To)
	if err != nil {
		return err
	}
	e := state.RollbackCompleted{ID: intent.ID, State: file.State.Clone()}
	e.State.Checkpoints, e.State.Rollbacks = []*state.CheckpointRef{}, nil
	x.Add(e)
	return x.Publish(context.Background())
}

// rollBackState takes the state back to a checkpoint. It finishes a rollback that was begun.
func rollBackState(ctx context.Context, x *Session, to string) error {
	return x.WithExclusiveLock(ctx, func() error {
		if x.State().Rollback == nil {
			if err := beginRollback(x, to, state.RollbackState); err != nil {
				return err
			}
		}
		return endRollback(x)
	})
}

// wantKept checks the content of a file that a checkpoint's capture holds.
func wantKept(t *testing.T, s *Store, w *workspace.Workspace, id, path, want string) {
	t.Helper()
	file, err := s.ReadCheckpoint("PRD-009", id)
	must(t, err)
	l, err := w.Load(context.Background(), file.State.Capture.Listing)
	must(t, err)
	for _, e := range l.Entries {
		if e.Path == path {
			got, err := s.Objects().Get(context.Background(), e.Digest, 1<<20)
			must(t, err)
			same(t, path, string(got), want)
			return
		}
	}
	t.Errorf("checkpoint %s has no %s", id, path)
}
