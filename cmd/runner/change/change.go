// Package change changes sessions for commands: all lock, finish what was cut short,
// record in the audit log, do, and close in the same order.
//
// What every command that changes a session needs under the lock belongs here. What one
// command does with the session does not: it gives Target a function. Nothing here reads a
// flag or a pipeline, and nothing asks the user. Where to begin:
//
//   - Target is the session that a command changes; Target.Change and Target.Ask change it;
//   - WithAudit records operations of the store that lock the session themselves;
//   - FinishedRollback is a rollback that was cut short and that a command finished first;
//   - MarkDamage records and reports a checkpoint that a command found damaged.
package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/isolate"
)

// Target is the session that a command changes. Every command that changes a session goes
// through it, so that all do the same in the same order:
//
//  1. The command finds the session (load.TrustedState, load.State), decides, and asks
//     the user.
//  2. Lock locks the session and finishes a rollback or an import that was cut short.
//  3. CarryOut makes sure that the audit log can be written, calls the command's function,
//     saves the cache of file digests, closes the session, and writes the audit record. So
//     the record has the result of closing, too.
//
// Change does the second and the third. Ask does the same for requests that the owner of
// the session carries out if it has one. Operations of the store that lock the session
// themselves, such as Store.SetAside, go through WithAudit. All add to the error of a
// locked session a hint that names the owner.
type Target struct {
	Env   *cli.Environment
	Store *checkpoint.Store
	PRD   string
	Files *workspace.Workspace // nil: the command needs no files

	// Leaves says that the command leaves the work of the session as it stands: it goes back
	// to a checkpoint, or ends the session. Then work that waits for its gates is rolled
	// back first, too, since nobody could commit it any more, and a result that has not come
	// back as a whole is taken back.
	Leaves bool

	// Finish replaces FinishEarlier in a command that treats what was cut short in its
	// own way.
	Finish func(ctx context.Context, session *checkpoint.Session) (*FinishedRollback, error)
}

// Change locks the session, finishes what was cut short, and carries out a change.
func (t *Target) Change(ctx context.Context, record *checkpoint.AuditRecord, do func(*checkpoint.Session) error) error {
	session, _, err := t.Lock(ctx)
	if err != nil {
		return err
	}
	return t.CarryOut(session, record, do)
}

// Lock locks the session, and finishes an import and a rollback that were cut short. It
// returns that rollback, or nil. The caller must close the session, or call CarryOut.
func (t *Target) Lock(ctx context.Context) (*checkpoint.Session, *FinishedRollback, error) {
	session, err := t.Store.Lock(ctx, t.PRD, t.Env.Actor())
	if err != nil {
		return nil, nil, advice.Locked(t.PRD, err)
	}
	finish := t.Finish
	if finish == nil {
		finish = t.FinishEarlier
	}
	done, err := finish(ctx, session)
	if err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	return session, done, nil
}

// CarryOut calls do with a locked session, saves the cache of file digests, and closes the
// session, all under one audit record. do may add to the record.
func (t *Target) CarryOut(session *checkpoint.Session, record *checkpoint.AuditRecord, do func(*checkpoint.Session) error) error {
	record.PRD = t.PRD
	if st := session.State(); st != nil {
		record.Session = st.Session
	}
	called := false
	err := WithAudit(t.Env, t.Store, record, func() error {
		called = true
		err := do(session)
		if t.Files != nil {
			load.SaveCache(t.Env, t.Files)
		}
		return errors.Join(err, session.Close())
	})
	if !called { // the audit log can't be written
		err = errors.Join(err, session.Close())
	}
	return err
}

// WithAudit calls do, which locks what it changes, and records the result in the audit log.
// do may add to the record.
func WithAudit(env *cli.Environment, store *checkpoint.Store, record *checkpoint.AuditRecord, do func() error) error {
	record.By = env.Actor()
	return advice.Locked(record.PRD, store.Audited(record, do))
}

// Ask hands a request to the owner of the session. If the session has no owner, ask locks
// it, finishes what was cut short, and calls do with the session and the rollback that it
// finished. The audit record covers both, since only Store.Ask knows whether there is an
// owner.
func (t *Target) Ask(ctx context.Context, r checkpoint.Request, do func(*checkpoint.Session, *FinishedRollback) error) error {
	record := checkpoint.AuditRecord{What: string(r.Verb), PRD: r.PRD, Reason: r.Comment}
	for _, arg := range []string{r.Gate, r.Workstream, string(r.Resolution)} {
		if arg != "" {
			record.Args = append(record.Args, state.Text(arg))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Inputs)) {
		record.Args = append(record.Args, state.Text(name)+"="+r.Inputs[name])
	}
	return WithAudit(t.Env, t.Store, &record, func() error {
		err := t.Store.Ask(ctx, r, func(session *checkpoint.Session) error {
			done, err := t.FinishEarlier(ctx, session)
			if err != nil {
				return err
			}
			return do(session, done)
		})
		if snap, unread := t.Store.Load(r.PRD); unread == nil {
			record.Session = snap.State.Session
		}
		if r.Verb == checkpoint.VerbCreate && err == nil {
			if newest, missing := NewestManualCheckpoint(t.Store, r.PRD); missing == nil {
				record.IDs = []string{newest.ID}
			}
		}
		return err
	})
}

// FinishInterrupted does what the next owner of a session would do first, so that
// decisions and plans are about the state after that. It takes over a rescue copy, sets
// aside the incomplete end of the journal, and finishes an import or a rollback that was
// cut short, which perhaps only the rescue copy holds. Interrupted reports whether there
// is anything to do.
func (t *Target) FinishInterrupted(ctx context.Context) (*FinishedRollback, error) {
	session, done, err := t.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return done, session.Close()
}

// FinishEarlier finishes an import and a rollback that were cut short, rolls back what
// protected workstreams changed that did not pass, and finishes the return of results of
// isolated workstreams. It tells the user. It returns the
// rollback to a checkpoint that it finished, or nil. If the command needs no files,
// FinishEarlier opens the workspace when there is something to finish.
func (t *Target) FinishEarlier(ctx context.Context, session *checkpoint.Session) (*FinishedRollback, error) {
	st := session.State()
	if st == nil {
		return nil, nil
	}
	pending, err := t.Store.Layout().InterruptedImport(st.PRD)
	if err != nil || pending == nil && st.Rollback == nil && len(t.rollbacks(st)) == 0 && len(st.Returning()) == 0 {
		return nil, err
	}
	w := t.Files
	if w == nil {
		cfg, err := t.Env.LoadConfig()
		if err != nil {
			return nil, err
		}
		if w, err = load.GuardedWorkspace(ctx, t.Env, cfg, t.Store, st.PRD); err != nil {
			return nil, err
		}
		defer func() { _ = w.Close() }()
		defer load.SaveCache(t.Env, w)
	}
	if pending != nil {
		if err := finishImport(ctx, t.Env, t.Store, session, w, pending); err != nil {
			return nil, err
		}
	}
	var done *FinishedRollback
	if session.State().Rollback != nil {
		if done, err = finishRollback(ctx, t.Env, t.Store, session, w); err != nil {
			return nil, err
		}
	}
	if due := t.rollbacks(session.State()); len(due) > 0 {
		err = finishProtected(ctx, t.Env, t.Store, session, w, due)
	}
	if err == nil && len(session.State().Returning()) > 0 {
		err = t.finishReturn(ctx, session, w)
	}
	return done, err
}

// rollbacks returns the protections whose workstreams are rolled back first.
func (t *Target) rollbacks(st *state.State) []state.Protection {
	if !t.Leaves {
		return st.RollbacksDue()
	}
	kept := st.KeptProtections()
	return slices.DeleteFunc(slices.Clone(st.Protections), func(p state.Protection) bool {
		return p.RolledBack || slices.ContainsFunc(kept, func(k state.Protection) bool { return k.Workstream == p.Workstream })
	})
}

// ReadSession reads a session without a lock. If there is no session, the snapshot holds
// only the import of a first session that was cut short, if there is one.
func ReadSession(store *checkpoint.Store, prd string) (*checkpoint.Snapshot, error) {
	snap, err := store.Load(prd)
	if !errors.Is(err, checkpoint.ErrNoSession) {
		return snap, err
	}
	pending, err := store.Layout().InterruptedImport(prd)
	return &checkpoint.Snapshot{Current: reader.Current{Import: pending}}, err
}

// Interrupted reports whether FinishInterrupted has something to do. It returns false while
// another process owns the session.
func Interrupted(snap *checkpoint.Snapshot) bool {
	return snap.Owner == nil && (snap.RescuePath != "" || snap.TornBytes > 0 || snap.Import != nil || RollingBack(snap) || len(RollbacksDue(snap)) > 0)
}

// RollingBack reports whether a rollback was begun and is not finished.
func RollingBack(snap *checkpoint.Snapshot) bool {
	return snap.State != nil && snap.State.Rollback != nil
}

// NewestManualCheckpoint returns the newest checkpoint that was made on request.
func NewestManualCheckpoint(store *checkpoint.Store, prd string) (*state.CheckpointRef, error) {
	refs, err := store.Checkpoints(prd)
	if err != nil {
		return nil, err
	}
	for i := len(refs) - 1; i >= 0; i-- {
		if refs[i].Trigger == state.TriggerManual {
			return &refs[i], nil
		}
	}
	return nil, fmt.Errorf("find the checkpoint that the run of %s made: %w", prd, state.ErrNoCheckpoint)
}

// LastTarget returns the target of a command that archives the session, so that no later
// command would finish its rollback. If finishing fails, the command only warns, because
// giving the session up is the last remedy. It is an error if edits were kept in a
// checkpoint: it could be restored only after an export and an import. It is also an error if a
// result is not taken back; files that can't be are only left out.
func LastTarget(env *cli.Environment, store *checkpoint.Store, prd string) *Target {
	t := &Target{Env: env, Store: store, PRD: prd, Leaves: true}
	t.Finish = func(ctx context.Context, session *checkpoint.Session) (*FinishedRollback, error) {
		done, err := t.FinishEarlier(ctx, session)
		if advice.IsA[*KeptEditsError](err) || advice.IsA[*isolate.UnfinishedError](err) {
			return nil, err
		}
		if err != nil {
			fmt.Fprintf(env.Stderr, "Warning: the workspace may be partly restored: %v\n", err)
		}
		return done, done.RefuseToLeave(env)
	}
	return t
}
