package main

import (
	"context"
	"errors"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
)

// target is the session that a command changes. Every command that changes a session goes
// through it, so that all do the same in the same order:
//
//  1. The command finds the session (load.TrustedState, load.State), decides, and asks the user.
//  2. lock locks the session and finishes a rollback or an import that was cut short.
//  3. carryOut makes sure that the audit log can be written, calls the command's function,
//     saves the cache of file digests, closes the session, and writes the audit record. So
//     the record has the result of closing, too.
//
// change does the second and the third. ask does the same for requests that the owner of
// the session carries out if it has one. Operations of the store that lock the session
// themselves, such as Store.SetAside, go through audited. All add to the error of a locked
// session a hint that names the owner.
type target struct {
	env   *cli.Environment
	store *checkpoint.Store
	prd   string
	files *workspace.Workspace // nil: the command needs no files

	// finish replaces finishEarlier in a command that treats what was cut short in its own way.
	finish func(ctx context.Context, session *checkpoint.Session) (*finished, error)
}

// change locks the session, finishes what was cut short, and carries out a change.
func (t *target) change(ctx context.Context, record *checkpoint.AuditRecord, do func(*checkpoint.Session) error) error {
	session, _, err := t.lock(ctx)
	if err != nil {
		return err
	}
	return t.carryOut(session, record, do)
}

// lock locks the session, and finishes an import and a rollback that were cut short. It
// returns that rollback, or nil. The caller must close the session, or call carryOut.
func (t *target) lock(ctx context.Context) (*checkpoint.Session, *finished, error) {
	session, err := t.store.Lock(ctx, t.prd, t.env.Actor())
	if err != nil {
		return nil, nil, advice.Locked(t.prd, err)
	}
	finish := t.finish
	if finish == nil {
		finish = t.finishEarlier
	}
	done, err := finish(ctx, session)
	if err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	return session, done, nil
}

// carryOut calls do with a locked session, saves the cache of file digests, and closes the
// session, all under one audit record. do may add to the record.
func (t *target) carryOut(session *checkpoint.Session, record *checkpoint.AuditRecord, do func(*checkpoint.Session) error) error {
	record.PRD = t.prd
	if st := session.State(); st != nil {
		record.Session = st.Session
	}
	called := false
	err := audited(t.env, t.store, record, func() error {
		called = true
		err := do(session)
		if t.files != nil {
			load.SaveCache(t.env, t.files)
		}
		return errors.Join(err, session.Close())
	})
	if !called { // the audit log can't be written
		err = errors.Join(err, session.Close())
	}
	return err
}

// audited calls do, which locks what it changes, and records the result in the audit log.
// do may add to the record.
func audited(env *cli.Environment, store *checkpoint.Store, record *checkpoint.AuditRecord, do func() error) error {
	record.By = env.Actor()
	return advice.Locked(record.PRD, store.Audited(record, do))
}

// ask hands a request to the owner of the session. If the session has no owner, ask locks
// it, finishes what was cut short, and calls do with the session and the rollback that it
// finished. The audit record covers both, since only Store.Ask knows whether there is an
// owner.
func (t *target) ask(ctx context.Context, r checkpoint.Request, do func(*checkpoint.Session, *finished) error) error {
	record := checkpoint.AuditRecord{What: string(r.Verb), PRD: r.PRD, Reason: r.Comment}
	for _, arg := range []string{r.Gate, r.Workstream, string(r.Resolution)} {
		if arg != "" {
			record.Args = append(record.Args, state.Text(arg))
		}
	}
	return audited(t.env, t.store, &record, func() error {
		err := t.store.Ask(ctx, r, func(session *checkpoint.Session) error {
			done, err := t.finishEarlier(ctx, session)
			if err != nil {
				return err
			}
			return do(session, done)
		})
		if snap, unread := t.store.Load(r.PRD); unread == nil {
			record.Session = snap.State.Session
		}
		if r.Verb == checkpoint.VerbCreate && err == nil {
			if made, missing := newestManual(t.store, r.PRD); missing == nil {
				record.IDs = []string{made.ID}
			}
		}
		return err
	})
}

// finishInterrupted does what the next owner of a session would do first, so that decisions
// and plans are about the state after that. It takes over a rescue copy, sets aside the
// incomplete end of the journal, and finishes an import or a rollback that was cut short,
// which perhaps only the rescue copy holds. interrupted reports whether there is anything to
// do.
func (t *target) finishInterrupted(ctx context.Context) (*finished, error) {
	session, done, err := t.lock(ctx)
	if err != nil {
		return nil, err
	}
	return done, session.Close()
}

// finishEarlier finishes an import and a rollback that were cut short, and tells the user.
// It returns the rollback that it finished, or nil. If the command needs no files,
// finishEarlier opens the workspace when there is something to finish.
func (t *target) finishEarlier(ctx context.Context, session *checkpoint.Session) (*finished, error) {
	st := session.State()
	if st == nil {
		return nil, nil
	}
	pending, err := t.store.Layout().InterruptedImport(st.PRD)
	if err != nil || pending == nil && st.Rollback == nil {
		return nil, err
	}
	w := t.files
	if w == nil {
		cfg, err := t.env.LoadConfig()
		if err != nil {
			return nil, err
		}
		if w, err = load.GuardedWorkspace(ctx, t.env, cfg, t.store, st.PRD); err != nil {
			return nil, err
		}
		defer func() { _ = w.Close() }()
		defer load.SaveCache(t.env, w)
	}
	if pending != nil {
		if err := finishImport(ctx, t.env, t.store, session, w, pending); err != nil {
			return nil, err
		}
	}
	if st = session.State(); st.Rollback == nil {
		return nil, nil
	}
	return finishRollback(ctx, t.env, t.store, session, w)
}

// readSession reads a session without a lock. If there is no session, the snapshot holds
// only the import of a first session that was cut short, if there is one.
func readSession(store *checkpoint.Store, prd string) (*checkpoint.Snapshot, error) {
	snap, err := store.Load(prd)
	if !errors.Is(err, checkpoint.ErrNoSession) {
		return snap, err
	}
	pending, err := store.Layout().InterruptedImport(prd)
	return &checkpoint.Snapshot{Current: reader.Current{Import: pending}}, err
}

// interrupted reports whether finishInterrupted has something to do. It returns false while
// another process owns the session.
func interrupted(snap *checkpoint.Snapshot) bool {
	return snap.Owner == nil && (snap.RescuePath != "" || snap.TornBytes > 0 || snap.Import != nil || rollingBack(snap))
}

// rollingBack reports whether a rollback was begun and is not finished.
func rollingBack(snap *checkpoint.Snapshot) bool {
	return snap.State != nil && snap.State.Rollback != nil
}
